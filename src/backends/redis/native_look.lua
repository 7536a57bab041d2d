-- SPDX-License-Identifier: MIT
-- Extends the leases of claims, and answers how each stands. Never creates.
-- KEYS: of each claim the book [and its other keys]. ARGV: of each claim id c16, lease I8, wait I8, tokens I4.
-- Answers one list for all, in order: of each claim 0, or 2 and what belongs to it, or a list. What goes wrong with one
-- name is told for that one.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write, try = redis.call, struct.unpack, struct.pack, redis.pcall
local byte, sub = string.byte, string.sub
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local stride, out, n, later = #KEYS / #ARGV, {}, 0, false

-- Names with one holder, or none, at once; the others afterwards.
for i = 1, #ARGV do
  local book = KEYS[(i - 1) * stride + 1]
  local v = try('GET', book)
  local form = 105
  if v then form = v.err and 0 or byte(v) end
  n = n + 1
  if form == 115 and #v > 90 then
    local asked = ARGV[i]
    local _, tok, kept, till, token = read('<BI8I8I8I8', v)
    local at, text, late
    out[n] = 0
    if till < now then
      at, text = '0', 'i'
    elseif sub(v, 76, 91) == sub(asked, 1, 16) then
      local lease, _, wish = read('<I8I8I4', asked, 17)
      local mode, _, tokens = read('<BBI4', v, 42)
      local extended = now + lease
      if extended > till then
        at, till, late = '9', extended, extended + 86400000000 > kept
        if late then kept = till + 90000000000 end
      end
      if wish > 1 and mode == 0 then
        token = tok + 1
        if token < now then token = now end
        tok, tokens, at = token + wish - 1, wish, '1'
      end
      if at == '9' then
        text = write('<I8I8', kept, till)
      elseif at then
        text = write('<I8I8I8I8', tok, kept, till, token) .. sub(v, 34, 43) .. write('<I4', tokens)
      end
      out[n], out[n + 1], out[n + 2] = 2 + mode, token, tokens
      n = n + 2
    end
    if at and type(try('SETRANGE', book, at, text)) == 'table' then
      --@ native_part_touch.lua
      call('SETRANGE', book, at, text)
    end
    if late then call('PEXPIRE', book, (kept - now) / 1000) end
  elseif form == 105 then
    out[n] = 0
  elseif form == 102 then
    later = later or {}
    local same = later[book] or {}
    later[book] = same
    same[#same + 1] = {i, n}
    out[n] = 0
  else
    out[n] = {-2, form == 0 and v.err or 'WRONGTYPE not a lock'}
  end
end
if not later then return out end

-- All that are asked about of one name.
local function look(book, v, whom)
  local me = sub(ARGV[whom[1][1]], 1, 16)
  --@ native_part_open.lua
  --@ native_part_check.lua
  --@ native_part_settle.lua
  local answers, places, answer, waits = {}, nil, nil, 0
  for i = 1, #whom do
    local lease, wait, wish
    me, lease, wait, wish = read('<c16I8I8I4', ARGV[whom[i][1]])
    local rec = call('HGET', claims, me)
    answer = {0}
    if rec then
      --@ native_part_stands.lua
    end
    answers[i] = answer
    if answer[1] > 5 then waits = wait end
  end
  -- Who waits is told when the first lease may be over. Before that comes sooner than they would ask anyway, it is looked
  -- up; in a large crowd it is cheaper to be asked once too often.
  if soonest < now + waits / 2 and held + waiting + tombs <= 256 then
    soonest = 9007199254740991
    for _, rec in ipairs(call('HVALS', claims)) do soonest = math.min(soonest, (read('<I8', rec, 10))) end
  end
  for i = 1, #whom do
    answer = answers[i]
    if answer[1] > 5 then answer[6] = math.max(1, math.ceil((soonest - now) / 1000)) end
  end
  answer = nil
  --@ native_part_save.lua
  return answers
end

for book, whom in pairs(later) do
  local v = call('GET', book)
  local good, answer = pcall(look, book, v, whom)
  if not good and string.find(tostring(type(answer) == 'table' and answer.err or answer), 'OOM', 1, true) then
    --@ native_part_touch.lua
    good, answer = pcall(look, book, v, whom)
  end
  for i = 1, #whom do
    out[whom[i][2]] = good and answer[i] or {-2, type(answer) == 'table' and answer.err or tostring(answer)}
  end
end
return out
