-- SPDX-License-Identifier: MIT
-- Creates a claim (mine, for book), or answers how the one with this id stands. What is given to a command as a number
-- is written out by the server as a fraction, which costs more than a text: hence '0'.
local v = call('GET', book)
local mode, how, tokens, lease = read('<BBI4I8', mine)
local form, tok, kept, ends = 105, 0, 0, 0
if v then
  form = byte(v)
  if form == 115 then
    form, tok, kept, ends = read('<BI8I8I8', v)
    if ends < now then form = 105 end
  elseif form == 105 then
    tok, kept = read('<I8I8', v, 2)
  elseif form ~= 102 then
    return redis.error_reply('WRONGTYPE not a lock')
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
    call('SETRANGE', book, '0', text)
    if late then call('PEXPIRE', book, (kept - now) / 1000) end
  else
    call('SET', book, text, 'PX', (kept - now) / 1000)
  end
  return token
end

local wait, weight, limit, _, me = read('<I8I4I4I4c16', mine, 15)
if form == 115 and sub(v, 76, 91) ~= me then
  -- One holder: to refuse changes nothing.
  local used, cap = read('<I4I4', v, 64)
  if cap ~= limit then return {-1, cap} end
  if how == 0 and used + weight > cap then
    return {8, 0, 0, 0, 0, math.max(1, math.ceil((ends - now) / 1000))}
  end
end

local place = me .. sub(mine, 1, 1) .. sub(mine, 3, 6) .. sub(mine, 23, 26) .. sub(mine, 52, 51 + byte(mine, 51))
--@ native_part_join.lua
--@ native_part_open.lua
--@ native_part_check.lua
--@ native_part_settle.lua
local answer
local rec, wish, places = call('HGET', claims, me), 1, nil
if rec then
  --@ native_part_stands.lua
elseif cap ~= limit and held + waiting > 0 then
  answer = {-1, cap}
else
  cap = limit
  local blocked = waiting > 0 or up or used + weight > cap
  if blocked and how == 0 then
    answer = {8, 0, 0, 0, 0, 0}
  else
    seq = seq + 1
    local token, till = 0, now + lease
    if blocked then
      till = now + wait
      line_new = waiting == 0
      answer = {6 + mode, 0, 0, waiting, 0, 0}
      waiting = waiting + 1
      call('RPUSH', line, place)
    else
      held, used = held + 1, used + weight
      sole = held == 1 and me
      token = tok
      if mode == 0 then
        token = tok + 1
        if token < now then token = now end
        tok = token + tokens - 1
      elseif tok == 0 then
        token, tok = now, now
      end
      answer = waiting == 0 and {2 + mode, token, tokens} or {4 + mode, token, tokens, 0, waiting, 0}
    end
    call('HSET', claims, me, write('<BI8I8I8I8', blocked and 1 or 2, seq, till, token, now) .. mine)
    if till > latest then latest = till end
    if till < soonest then soonest = till end
  end
end
--@ native_part_save.lua
return answer
