-- SPDX-License-Identifier: MIT
-- The token of a grant that a majority has agreed to: no smaller one is made here from now on. Nobody has seen one that
-- was made here for this claim and is larger, so that is forgotten.
-- KEYS: book. ARGV: what the register must be at least, the claim's own token, its id, milliseconds that a new book is
-- kept, a token that was made here for the same claim too late (0: none; -1: its own). What the bytes of a book mean is
-- said in redis/native_part_open.lua.
local read, write, sub = struct.unpack, struct.pack, string.sub
local book, top, token, id = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local v = redis.call('GET', book)
if not v then
  local clock = redis.call('TIME')
  local kept = clock[1] * 1000000 + clock[2] + ARGV[4] * 1000
  redis.call('SET', book, write('<BI8I8', 105, top, kept), 'PX', ARGV[4])
  return 1
end
local form, known = read('<BI8', v)
local made, mode, tokens, _ = 0, 1, 0, nil
if form == 115 then
  if sub(v, 76, 91) == id then
    made, _, mode, _, tokens = read('<I8I8BBI4', v, 26)
    redis.call('SETRANGE', book, 25, write('<I8', token))
  end
elseif form == 102 then
  local claims = sub(book, 1, -2) .. 'c'
  local record = redis.call('HGET', claims, id)
  if record and string.byte(record) < 5 then
    made, _, mode, _, tokens = read('<I8I8BBI4', record, 18)
    if string.byte(v, 62) == 3 and sub(v, 63, 78) == id then
      made = read('<I8', v, 79)
      redis.call('SETRANGE', book, 78, write('<I8', token))
    else
      redis.call('HSET', claims, id, sub(record, 1, 17) .. write('<I8', token) .. sub(record, 26))
    end
  end
end
local late = tonumber(ARGV[5])
if late == -1 and mode == 0 then late = made + tokens - 1 end
if known < top or known == late then
  redis.call('SETRANGE', book, 1, write('<I8', top))
end
return 1
