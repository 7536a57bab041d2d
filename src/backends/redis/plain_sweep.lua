-- SPDX-License-Identifier: MIT
-- Removes what is over from a companion: waiters who fell silent, old tombstones and marks.
-- KEYS: companion.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if #all[i] == 32 and tonumber(string.sub(all[i + 1], 2, 16)) < now then redis.call('HDEL', KEYS[1], all[i]) end
end
return 1
