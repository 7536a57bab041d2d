-- SPDX-License-Identifier: MIT
-- Changes mode and weight of a held claim without letting go.
-- KEYS: book [its other keys]. ARGV: id c16, mode B, how B, weight I4. Answers a list.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local book = KEYS[1]
local v = redis.pcall('GET', book)
if not v then return {0} end
if v.err then return {-2, v.err} end
local me, mode, how, weight = read('<c16BBI4', ARGV[1])
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local form = string.byte(v)
if form == 105 or (form == 115 and (string.sub(v, 76, 91) ~= me or read('<I8', v, 18) < now)) then return {0} end
if form ~= 115 and form ~= 102 then return {-2, 'an unknown form'} end
--@ native_common.lua
write_something()
if form == 115 and weight <= read('<I4', v, 68) then
  local token, tokens, was = read('<I8', v, 26), read('<I4I4', v, 60)
  tok = read('<I8', v, 2)
  if weight > was and mode == 0 then token, tokens = next_token(0, 1), 1 end
  call('SETRANGE', book, 1, write('<I8', tok) .. sub(v, 10, 25) .. write('<I8', token) .. sub(v, 34, 41)
    .. write('<B', mode) .. sub(v, 43, 59) .. write('<I4I4', tokens, weight))
  return {2 + mode, token, tokens}
end

open()
settle()
local rec = call('HGET', claims, me)
local state = rec and byte(rec)
if not rec or state == 1 or state > 3 or tonumber(call('ZSCORE', ends_of, me)) < now then
  save()
  return {(state == 4 or state == 6) and 1 or 0}
end
local token, since, old_mode = read('<I8I8B', rec, 10)
local tokens, old_weight = read('<I4I4', rec, 44)
if weight <= old_weight then
  if state == 3 then up = false end
  used = used - old_weight + weight
  put(me, rec, 2, token, since, mode, tokens, weight)
  serve()
  save()
  return answer_held(mode, token, tokens)
end
if up and up ~= me then
  save()
  return {-3}
end
if used - old_weight + weight > cap then
  if how == 1 and state ~= 3 then
    up = me
    put(me, rec, 3, token, since, old_mode, tokens, old_weight)
  end
  save()
  return {(how == 1 and 6 or 8) + old_mode, token, tokens, 0, waiting, first_end()}
end
if state == 3 then up = false end
used = used - old_weight + weight
if mode == 0 then token, tokens = next_token(0, 1), 1 end
put(me, rec, 2, token, since, mode, tokens, weight)
save()
return answer_held(mode, token, tokens)
