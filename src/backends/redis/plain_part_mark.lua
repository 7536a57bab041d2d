-- SPDX-License-Identifier: MIT
-- Whoever releases this lock finds something to do in its companion. Expects mark and life: for how many milliseconds
-- that is so. A hint: without it waiters look for themselves, at longer intervals.
do
  local left = redis.pcall('PTTL', mark)
  if type(left) == 'number' and left * 3 < tonumber(life) * 2 then redis.pcall('SET', mark, '1', 'PX', life) end
end
