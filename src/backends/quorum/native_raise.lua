-- SPDX-License-Identifier: MIT
-- The token of a grant that a majority has agreed to: no smaller one is made here from now on.
-- KEYS: book. ARGV: what the register must be at least, the claim's own token, its id, milliseconds that a new book is
-- kept, a token that was made here for the same claim too late and that nobody has seen (0: none). What the bytes of a
-- book mean is said in redis/native_part_open.lua.
local book, top, token, id = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local v = redis.call('GET', book)
if not v then
  local clock = redis.call('TIME')
  local kept = clock[1] * 1000000 + clock[2] + ARGV[4] * 1000
  redis.call('SET', book, struct.pack('<BI8I8', 105, top, kept), 'PX', ARGV[4])
  return 1
end
local known = struct.unpack('<I8', v, 2)
if known < top or known == tonumber(ARGV[5]) then redis.call('SETRANGE', book, 1, struct.pack('<I8', top)) end
if string.byte(v) == 115 then
  if string.sub(v, 76, 91) == id then redis.call('SETRANGE', book, 25, struct.pack('<I8', token)) end
else
  local claims = string.sub(book, 1, -2) .. 'c'
  local record = redis.call('HGET', claims, id)
  if record and string.byte(record) < 5 then
    redis.call('HSET', claims, id, string.sub(record, 1, 17) .. struct.pack('<I8', token) .. string.sub(record, 26))
  end
end
return 1
