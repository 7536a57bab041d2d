-- SPDX-License-Identifier: MIT
-- Companions are worth looking at, for so long at least. Expects mark and life, in milliseconds. A hint: without it
-- waiters look for themselves, at longer intervals.
if mark then
  local left = redis.pcall('PTTL', mark)
  if type(left) == 'number' and left < tonumber(life) then redis.pcall('SET', mark, '1', 'PX', life) end
end
