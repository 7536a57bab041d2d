-- SPDX-License-Identifier: MIT
-- Creates a claim, or answers how the one with this id stands.
-- KEYS: book [its other keys]. ARGV: the claim. Answers a list, or the token alone if it was granted as asked and nobody
-- else is here.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local book, mine = KEYS[1], ARGV[1]
local v = redis.pcall('GET', book)
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local mode, how, lease, wait, tokens = read('<BBI8I8I4', mine)
local form, tok, kept, ends = 105, 0, 0, 0
if v then
  if v.err then return {-2, v.err} end
  form = string.byte(v)
  if form == 115 then
    form, tok, kept, ends = read('<BI8I8I8', v)
    if ends < now then form = 105 end
  elseif form == 105 then
    form, tok, kept = read('<BI8I8', v)
  elseif form ~= 102 then
    return {-2, 'an unknown form'}
  end
end

if form == 105 then
  local token = tok
  if mode == 0 then
    token = tok + 1
    if token < now then token = now end
    tok = token + tokens - 1
  elseif tok == 0 then
    token, tok = now, now
  end
  ends = now + lease
  local late = ends + 86400000000 > kept
  if late then kept = ends + 90000000000 end
  local text = write('<BI8I8I8I8I8', 115, tok, kept, ends, token, now) .. mine
  if v then
    call('SETRANGE', book, 0, text)
    if late then call('PEXPIRE', book, (kept - now) / 1000) end
  else
    call('SET', book, text, 'PX', (kept - now) / 1000)
  end
  return token
end

local weight, limit = read('<I4I4', mine, 23)
local me = string.sub(mine, 35, 50)
if form == 115 and string.sub(v, 76, 91) ~= me then
  -- One holder: to refuse changes nothing.
  local used, cap = read('<I4I4', v, 64)
  if cap ~= limit then return {-1, cap} end
  if how == 0 and used + weight > cap then
    return {8, 0, 0, 0, 0, math.max(1, math.ceil((ends - now) / 1000))}
  end
end

--@ native_common.lua
open()
settle()
local rec = call('HGET', claims, me)
if rec then
  local answer = stands(rec, lease, wait, 1)
  save()
  return answer
end
if cap ~= limit and held + waiting > 0 then
  save()
  return {-1, cap}
end
cap = limit
local blocked = waiting > 0 or up or used + weight > cap
if blocked and how == 0 then
  save()
  return {8, 0, 0, 0, 0, first_end()}
end
seq = seq + 1
local token, answer = 0, nil
if blocked then
  line_late = waiting == 0
  waiting = waiting + 1
  call('ZADD', line, seq, me)
  lasts(me, now + wait)
  answer = {6 + mode, 0, 0, waiting - 1, 0, first_end(me)}
else
  held, used = held + 1, used + weight
  token = next_token(mode, tokens)
  lasts(me, now + lease)
  answer = answer_held(mode, token, tokens)
end
call('HSET', claims, me, write('<BI8I8I8', blocked and 1 or 2, seq, token, now) .. mine)
save()
return answer
