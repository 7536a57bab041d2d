-- SPDX-License-Identifier: MIT
-- The hand-over, as it ordinarily is: the only holder (me) goes, nobody's lease is over, and the first in the line gets
-- all of it. Nothing else changes, so the book is not opened for it. Everything else is left as it was.
if byte(v, 62) == 2 and sub(v, 63, 78) == me then
  local soonest, cap, _, _, waiting = read('<I8I4I4I4I4', v, 34)
  if waiting > 0 and soonest >= now then
    local base = sub(book, 1, -2)
    local claims, line = base .. 'c', base .. 'l'
    local heir = call('LPOP', line)
    local rec = heir and call('HGET', claims, heir)
    if rec and byte(rec) == 1 then
      local mode, _, tokens, _, _, weight = read('<BBI4I8I8I4', rec, 34)
      if mode == 0 and weight == cap and call('HDEL', claims, me) == 1 then
        local token = read('<I8', v, 2) + 1
        if token < now then token = now end
        call('HSET', claims, heir, '\2' .. sub(rec, 2, 17) .. write('<I8I8', token, now) .. sub(rec, 34))
        local channel = byte(rec, 84)
        if channel > 0 then
          redis.pcall('PUBLISH', sub(rec, 85, 84 + channel),
            write('<c1Bc16I8I4I4', 'g', 0, heir, token, tokens, waiting - 1))
        end
        call('SETRANGE', book, '1', write('<I8', token + tokens - 1) .. sub(v, 10, 45)
          .. write('<I4I4I4', cap, 1, waiting - 1) .. sub(v, 58, 62) .. heir)
        return 2
      end
    end
    if heir then
      call('LPUSH', line, heir)
      call('PEXPIRE', line, math.max(1, math.ceil((read('<I8', v, 18) - now) / 1000)))
    end
  end
end
