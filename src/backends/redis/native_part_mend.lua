-- SPDX-License-Identifier: MIT
-- Parts of a name were removed by hand, or evicted by the server: what is whole counts, the rest goes.
local till, place = {}, {}
for _, id in ipairs(call('ZRANGE', ends_of, 0, -1)) do till[id] = true end
for _, id in ipairs(call('ZRANGE', line, 0, -1)) do place[id] = true end
local all = call('HGETALL', claims)
soonest, used, held, waiting, tombs, up = 0, 0, 0, 0, 0, false
for i = 1, #all, 2 do
  local id, rec = all[i], all[i + 1]
  local state = byte(rec)
  if not till[id] or (state == 1 and not place[id]) then
    call('HDEL', claims, id)
  else
    till[id] = nil
    if state == 1 then
      place[id] = nil
      waiting = waiting + 1
    elseif state > 4 then
      tombs = tombs + 1
    else
      held = held + 1
      used = used + read('<I4', rec, 48)
      if state == 3 then up = id end
    end
  end
end
for id in pairs(till) do call('ZREM', ends_of, id) end
for id in pairs(place) do call('ZREM', line, id) end
