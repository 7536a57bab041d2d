-- SPDX-License-Identifier: MIT
-- All there is about one lock. Changes nothing.
-- KEYS: lock, companion. Answers: {type, value, ms left, server ms, records of the companion...}
local time = redis.call('TIME')
local is = redis.call('TYPE', KEYS[1]).ok
local value = is == 'string' and redis.call('GET', KEYS[1]) or ''
local answer = {is, value, redis.call('PTTL', KEYS[1]), time[1] * 1000 + math.floor(time[2] / 1000)}
if redis.call('TYPE', KEYS[2]).ok == 'hash' then
  for _, one in ipairs(redis.call('HGETALL', KEYS[2])) do answer[#answer + 1] = one end
end
return answer
