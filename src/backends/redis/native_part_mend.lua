-- SPDX-License-Identifier: MIT
-- Parts of a name were removed by hand, or evicted by the server: what is whole counts, the rest goes.
local order, all, known = call('LRANGE', line, 0, -1), call('HGETALL', claims), {}
call('DEL', line)
for i = 1, #all, 2 do known[all[i]] = all[i + 1] end
keep, soonest, used, held, waiting, tombs, up, sole = 0, 0, 0, 0, 0, 0, false, false
for i = 1, #order do
  local id = sub(order[i], 1, 16)
  local rec = known[id]
  if rec and byte(rec) == 1 then
    known[id] = nil
    latest = math.max(latest, read('<I8', rec, 10))
    waiting = waiting + 1
    --@ native_part_place.lua
    call('RPUSH', line, place)
  end
end
for id, rec in pairs(known) do
  local state = byte(rec)
  if state == 1 then
    call('HDEL', claims, id)
  else
    latest = math.max(latest, read('<I8', rec, 10))
    if state > 4 then
      tombs = tombs + 1
    else
      held = held + 1
      used = used + read('<I4', rec, 56)
      if state == 3 then up = id end
    end
  end
end
