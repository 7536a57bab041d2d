-- SPDX-License-Identifier: MIT
-- Goes before the rest of RLock's leave: a hold is given back, and nothing is to be remembered of it. A key of another
-- type is no hold of ours.
if ARGV[11] == '' and redis.pcall('hdel', KEYS[1], ARGV[4]) == 1 then
  local channel = KEYS[1]
  if not string.find(channel, '{', 1, true) then channel = '{' .. channel .. '}' end
  channel = 'redisson_lock__channel:' .. channel
  redis.pcall('publish', channel, '0')
  if ARGV[1] == '1' then redis.pcall('spublish', channel, '0') end
  redis.call('hdel', KEYS[2], ARGV[4])
  return 'r'
end
