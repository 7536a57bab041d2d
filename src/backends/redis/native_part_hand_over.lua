-- SPDX-License-Identifier: MIT
-- The hand-over, as it ordinarily is: the only holder (me) goes, nobody's lease is over, and the first in the line gets
-- all of it. Nothing else changes, so the book is not opened for it, and the heir's record not written: the book knows.
-- Everything else is left as it was.
if byte(v, 62) > 1 and sub(v, 63, 78) == me then
  local soonest, cap, _, _, waiting = read('<I8I4I4I4I4', v, 34)
  if waiting > 0 and soonest >= now then
    local base = sub(book, 1, -2)
    local line = base .. 'l'
    local heir = call('LPOP', line)
    if heir and #heir > 24 then
      local mode, tokens, weight = read('<BI4I4', heir, 17)
      if mode == 0 and weight == cap and call('HDEL', base .. 'c', me) == 1 then
        local id, token = sub(heir, 1, 16), read('<I8', v, 2) + 1
        if token < now then token = now end
        if #heir > 25 then
          redis.pcall('PUBLISH', sub(heir, 26), 'g\0' .. id .. write('<I8I4I4', token, tokens, waiting - 1))
        end
        call('SETRANGE', book, '1', write('<I8', token + tokens - 1) .. sub(v, 10, 45)
          .. write('<I4I4I4', cap, 1, waiting - 1) .. sub(v, 58, 61) .. '\3' .. id .. write('<I8I8', token, now))
        return 2
      end
    end
    if heir then
      call('LPUSH', line, heir)
      call('PEXPIRE', line, math.max(1, math.ceil((read('<I8', v, 18) - now) / 1000)))
    end
  end
end
