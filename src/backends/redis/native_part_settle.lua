-- SPDX-License-Identifier: MIT
-- Forgets what has ended, then grants what fits.
if soonest < now then
  local gone, waited = {}, {}
  soonest = 9007199254740991
  local all = call('HGETALL', claims)
  for i = 1, #all, 2 do
    local rec = all[i + 1]
    local state, _, till = read('<BI8I8', rec)
    if till >= now then
      if till < soonest then soonest = till end
    else
      gone[#gone + 1] = all[i]
      if state > 4 then
        tombs = tombs - 1
      elseif state == 1 then
        waiting = waiting - 1
        --@ native_part_place.lua
        waited[#waited + 1] = place
      else
        held, used, sole = held - 1, used - read('<I4', rec, 56), false
        if state == 3 then up = false end
      end
    end
  end
  for i = 1, #gone, 500 do call('HDEL', claims, unpack(gone, i, math.min(i + 499, #gone))) end
  if #waited > 8 then
    -- One by one would be a walk through the line for each.
    local over, left = {}, {}
    for i = 1, #waited do over[waited[i]] = true end
    for _, place in ipairs(call('LRANGE', line, 0, -1)) do
      if not over[place] then left[#left + 1] = place end
    end
    call('DEL', line)
    for i = 1, #left, 500 do call('RPUSH', line, unpack(left, i, math.min(i + 499, #left))) end
    line_new = true
  else
    for i = 1, #waited do call('LREM', line, '1', waited[i]) end
  end
end
--@ native_part_serve.lua
