-- SPDX-License-Identifier: MIT
-- Queueing, as it ordinarily is: behind others, while nothing is free and nobody's lease is over. Everything else is left
-- as it was.
if form == 102 and how == 1 then
  local kept, keep, seq, soonest, cap, used, held, waiting, tombs, known = read('<I8I8I8I8I4I4I4I4I4B', v, 10)
  local till, claims = now + wait, sub(book, 1, -2) .. 'c'
  if waiting > 0 and used == cap and cap == limit and known ~= 1 and soonest >= now and till + 60000000 <= keep
    and till + 86400000000 <= kept and call('HLEN', claims) == held + waiting + tombs
    and call('HSETNX', claims, me, write('<BI8I8I8I8', 1, seq + 1, till, 0, now) .. mine) == 1 then
    -- Somebody is missing in the line: a number that cannot be right makes whoever comes next mend it.
    if call('RPUSH', sub(book, 1, -2) .. 'l', place) ~= waiting + 1 then tombs = tombs + 1 end
    if till < soonest then soonest = till end
    call('SETRANGE', book, '25', write('<I8I8I4I4I4I4I4', seq + 1, soonest, cap, used, held, waiting + 1, tombs))
    return {6 + mode, 0, 0, waiting, 0, math.max(1, math.ceil((soonest - now) / 1000))}
  end
end
