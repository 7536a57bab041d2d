-- SPDX-License-Identifier: MIT
-- Takes a claim (me) out of book, and serves who is next.
local v = call('GET', book)
local form = v and byte(v) or 105
if form == 115 then
  if not tomb then
    local was = 0
    if read('<I8', v, 18) >= now then
      if sub(v, 76, 91) ~= me then return 0 end
      was = 2
    end
    if type(redis.pcall('SETRANGE', book, '0', 'i')) == 'table' then
      --@ native_part_touch.lua
      call('SETRANGE', book, '0', 'i')
    end
    return was
  end
elseif form == 105 then
  if not tomb then return 0 end
elseif form ~= 102 then
  return redis.error_reply('WRONGTYPE not a lock')
end

if form == 102 and not tomb then
  --@ native_part_hand_over.lua
end
if v and (tomb or byte(v, 62) == 3) then
  --@ native_part_touch.lua
end
--@ native_part_open.lua
if soonest < now then
  --@ native_part_check.lua
end
local was = 0
--@ native_part_settle.lua
local rec = call('HGET', claims, me)
local state = rec and byte(rec)
if rec and state < 5 then
  call('HDEL', claims, me)
  if state == 1 then
    was, waiting = 1, waiting - 1
    -- From the end where it is more likely to be found soon.
    local near_head = 2 * (seq - read('<I8', rec, 2)) > waiting
    --@ native_part_place.lua
    torn = call('LREM', line, near_head and '1' or '-1', place) == 0 or torn
  else
    was, held, used, sole = 2, held - 1, used - read('<I4', rec, 56), false
    if state == 3 then up = false end
  end
  rec = false
end
if tomb and not rec then
  local till = now + tomb
  latest, soonest, tombs = math.max(latest, till), math.min(soonest, till), tombs + 1
  call('HSET', claims, me, write('<BI8I8', 5, 0, till))
end
--@ native_part_serve.lua
local answer
--@ native_part_save.lua
return was
