-- SPDX-License-Identifier: MIT
-- Says when the first lease in the way is over, if the answer has room for that, and writes the book back, folded up if
-- nobody is left. Not exact: another lease may be over sooner, or may have been extended, and then somebody looks once
-- too often.
if answer and answer[6] and answer[1] > 5 then answer[6] = math.max(1, math.ceil((soonest - now) / 1000)) end
-- Something was missing: a number that cannot be right makes whoever comes next mend it.
if torn then tombs = tombs + 1 end
local head
local late = latest + 86400000000 > kept
if late then kept = latest + 90000000000 end
if held + waiting + tombs > 0 then
  if latest + 60000000 > keep then
    keep = math.max(latest, now) + 3600000000
    local left = math.ceil((keep - now) / 1000)
    call('PEXPIRE', claims, left)
    call('PEXPIRE', line, left)
  elseif line_new then
    call('PEXPIRE', line, math.ceil((keep - now) / 1000))
  end
  head = write('<BI8I8I8I8I8I4I4I4I4I4B', 102, tok, kept, keep, seq, soonest, cap, used, held, waiting, tombs,
    up and 1 or sole and 2 or 0) .. (up or sole or '')
else
  call('DEL', claims, line)
  head = write('<BI8I8', 105, tok, kept)
end
if not v then
  call('SET', book, head, 'PX', math.ceil((kept - now) / 1000))
else
  if sub(v, 1, #head) ~= head then call('SETRANGE', book, '0', head) end
  if late then call('PEXPIRE', book, math.ceil((kept - now) / 1000)) end
end
