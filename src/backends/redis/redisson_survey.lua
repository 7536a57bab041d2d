-- SPDX-License-Identifier: MIT
-- All that is known about one name, as it is; what it means is worked out by who asked. Changes nothing.
local c = {lock = KEYS[1]}
local kind = redis.call('type', c.lock).ok
local content, leases, permits = {}, {}, {}
if kind == 'hash' then
  content = redis.call('hgetall', c.lock)
  for i = 1, #content, 2 do
    local count = tonumber(content[i + 1])
    leases[(i + 1) / 2] = count and redis.call('hexists', c.lock, 'mode') == 1 and reader_left(c, content[i], count) or -3
  end
elseif kind == 'string' then
  content = {redis.call('get', c.lock)}
  permits = redis.call('zrange', KEYS[5], 0, -1, 'withscores')
end
return {text(now), kind, redis.call('pttl', c.lock), content, leases, permits, redis.call('hgetall', KEYS[2]),
        redis.call('zrange', KEYS[3], 0, -1, 'withscores'), redis.call('lrange', KEYS[4], 0, -1),
        redis.call('zrange', KEYS[6], 0, -1, 'withscores')}
