-- SPDX-License-Identifier: MIT
-- How my record (rec) stands, after its lease was extended; wish: of how many tokens it wants a fresh block, if several;
-- places: where everybody stands in the line, if that was looked up already.
local state = byte(rec)
if state > 3 then
  answer = {state == 5 and 0 or 1}
else
  local came, till, token, since, mode, how_was, tokens = read('<I8I8I8I8BBI4', rec, 2)
  local changed = false
  local extended = now + (state == 1 and wait or lease)
  if extended > till then
    till, changed = extended, true
    if extended > latest then latest = extended end
  end
  if state == 1 then
    -- Where it stands if nobody behind it has gone.
    local ahead = waiting - 1 - seq + came
    local there = ahead >= 0 and call('LINDEX', line, ahead)
    if not there or sub(there, 1, 16) ~= me then
      if not places then
        places = {}
        for i, place in ipairs(call('LRANGE', line, 0, -1)) do places[sub(place, 1, 16)] = i - 1 end
      end
      ahead = places[me]
    end
    torn = torn or not ahead
    answer = ahead and {6 + mode, 0, 0, ahead, 0, 0} or {0}
  else
    if wish > 1 and mode == 0 then
      token = tok + 1
      if token < now then token = now end
      tok, tokens, changed = token + wish - 1, wish, true
    end
    answer = waiting == 0 and {2 + mode, token, tokens} or {4 + mode, token, tokens, 0, waiting, 0}
  end
  if changed then
    call('HSET', claims, me, sub(rec, 1, 9) .. write('<I8I8I8BBI4', till, token, since, mode, how_was, tokens)
      .. sub(rec, 40))
  end
end
