-- SPDX-License-Identifier: MIT
-- Changes mode and weight of a held claim without letting go.
-- KEYS: book [its other keys]. ARGV: id c16, mode B, how B, weight I4. Answers a list.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local byte, sub = string.byte, string.sub
local book = KEYS[1]
local v = call('GET', book)
if not v then return {0} end
local me, new_mode, how, new_weight = read('<c16BBI4', ARGV[1])
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local form = byte(v)
if form == 105 or (form == 115 and (sub(v, 76, 91) ~= me or read('<I8', v, 18) < now)) then return {0} end
if form ~= 115 and form ~= 102 then return redis.error_reply('WRONGTYPE not a lock') end
--@ native_part_touch.lua
if form == 115 and new_weight <= read('<I4', v, 68) then
  -- Alone, everything fits.
  local tok, token, tokens = read('<I8', v, 2), read('<I8', v, 26), read('<I4', v, 44)
  if new_weight > read('<I4', v, 64) and new_mode == 0 then
    token, tokens = tok + 1, 1
    if token < now then token = now end
    tok = token
  end
  call('SETRANGE', book, 1, write('<I8', tok) .. sub(v, 10, 25) .. write('<I8', token) .. sub(v, 34, 41)
    .. write('<BBI4', new_mode, 0, tokens) .. sub(v, 48, 63) .. write('<I4', new_weight))
  return {2 + new_mode, token, tokens}
end

--@ native_part_open.lua
--@ native_part_check.lua
--@ native_part_settle.lua
local answer
local rec = call('HGET', claims, me)
local state = rec and byte(rec)
if not rec or state == 1 or state > 3 then
  answer = {(state == 4 or state == 6) and 1 or 0}
else
  local token, since, mode, _, tokens = read('<I8I8BBI4', rec, 18)
  local weight = read('<I4', rec, 56)
  local changed, old_weight = false, weight
  if new_weight <= weight or ((not up or up == me) and used - weight + new_weight <= cap) then
    if state == 3 then up = false end
    used, changed = used - weight + new_weight, true
    if new_weight > weight and new_mode == 0 then
      token, tokens = tok + 1, 1
      if token < now then token = now end
      tok = token
    end
    state, mode, weight = 2, new_mode, new_weight
  elseif up and up ~= me then
    answer = {-3}
  else
    answer = {(how == 1 and 6 or 8) + mode, token, tokens, 0, waiting, 0}
    if how == 1 and state == 2 then
      up, sole, state, changed = me, false, 3, true
    end
  end
  if changed then
    call('HSET', claims, me, write('<B', state) .. sub(rec, 2, 17) .. write('<I8I8BBI4', token, since, mode, 0, tokens)
      .. sub(rec, 40, 55) .. write('<I4', weight) .. sub(rec, 60))
  end
  if not answer then
    if new_weight <= old_weight then
      --@ native_part_serve.lua
    end
    answer = waiting == 0 and {2 + mode, token, tokens} or {4 + mode, token, tokens, 0, waiting, 0}
  end
end
me = ''
--@ native_part_save.lua
return answer
