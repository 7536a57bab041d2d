-- SPDX-License-Identifier: MIT
-- The hand-over, as it ordinarily is: the only holder (me) goes, nobody's lease is over, and the first in the line gets
-- all of it. Nothing else changes, so the book is not opened for it. Everything else is left as it was.
local cap, used, held, waiting, _, upgrading = read('<I4I4I4I4I4B', v, 42)
if held == 1 and used == cap and waiting > 0 and upgrading == 0 and read('<I8', v, 34) >= now then
  local base = sub(book, 1, -2)
  local claims, line = base .. 'c', base .. 'l'
  local first = call('ZPOPMIN', line)
  local heir = first[1]
  local both = heir and call('HMGET', claims, me, heir)
  local mine, rec = both and both[1], both and both[2]
  if mine and rec and byte(mine) == 2 and byte(rec) == 1 then
    local mode, _, tokens, _, _, weight = read('<BBI4I8I8I4', rec, 26)
    if mode == 0 and weight == cap and call('ZREM', base .. 'e', me) == 1 then
      local token = read('<I8', v, 2) + 1
      if token < now then token = now end
      call('HDEL', claims, me)
      call('HSET', claims, heir, '\2' .. sub(rec, 2, 9) .. write('<I8I8', token, now) .. sub(rec, 26))
      local channel = byte(rec, 76)
      if channel > 0 then
        redis.pcall('PUBLISH', sub(rec, 77, 76 + channel),
          write('<c1Bc16I8I4I4', 'g', 0, heir, token, tokens, waiting - 1))
      end
      local changed = write('<I8', token + tokens - 1) .. sub(v, 10, 45) .. write('<I4I4I4', cap, 1, waiting - 1)
      call('SETRANGE', book, '1', changed)
      return 2
    end
  end
  if heir then call('ZADD', line, first[2], heir) end
end
