-- SPDX-License-Identifier: MIT
-- Goes before the rest of RLock's enter: nobody holds it, nobody waits, in either of its queues, and this claim has not
-- been ended. Then all that redisson_lock.lua and redisson_claims.lua would do is this, in a quarter of the time.
if redis.call('exists', KEYS[1], KEYS[3], KEYS[4], KEYS[5]) == 0 then
  local owner, lease = ARGV[4], tonumber(ARGV[6])
  redis.call('hset', KEYS[1], owner, 1)
  redis.call('pexpire', KEYS[1], lease)
  local time = redis.call('time')
  local micros = time[1] * 1000000 + time[2]
  local token, last = 0, redis.call('hget', KEYS[2], 'tok')
  if ARGV[2] == 'counter' then
    token = math.max(tonumber(last or '0') + 1, micros)
    last = string.format('%.0f', token)
  elseif ARGV[2] == 'object' then
    token = redis.call('incrby', KEYS[7], 1)
  end
  local record = string.format('%.0f %.0f 1 x 1 ', math.floor(micros / 1000), token) .. ARGV[11]
  if redis.call('hlen', KEYS[2]) > 1 then redis.call('del', KEYS[2]) end -- what the dead have left
  if last then
    redis.call('hset', KEYS[2], 'tok', last, owner, record)
  else
    redis.call('hset', KEYS[2], owner, record)
  end
  redis.call('pexpire', KEYS[2], lease + 3600000)
  return {0, 'x', token, 1, 0, 1, 0}
end
