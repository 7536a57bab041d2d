-- SPDX-License-Identifier: MIT
-- Changes a Redisson RCountDownLatch if it stands at what is expected; what is not there stands at 0.
-- KEYS: the latch, and beside it interlock's marks. ARGV: expected count, new count, mark c16, '1' if it was asked
-- before, '1' to publish on sharded channels, too, channel, how many marks to remember, for how many milliseconds.
-- Answers the new count; -1: it is another than expected; -2: too much has happened to tell.
--
-- What Redisson's own scripts leave and publish: a latch that is set up is told as '1', one that has opened is deleted
-- and told as '0', on the way down nothing is told. Time to live, if somebody gave it one, stays.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call = redis.call
local text = call('get', KEYS[1]) or '0'
local count, expected, wanted = tonumber(text), tonumber(ARGV[1]), tonumber(ARGV[2])
if not count then return redis.error_reply('WRONGTYPE not a latch') end
if count < 0 then count = 0 end
local log, mark, most = call('get', KEYS[2]) or '', ARGV[3], tonumber(ARGV[7])
for i = 1, #log, 24 do
  if string.sub(log, i, i + 15) == mark then return (struct.unpack('<I8', log, i + 16)) end
end
if count ~= expected then
  if ARGV[4] == '1' and #log >= 24 * most then return -2 end
  return -1
end
local told
if wanted == 0 then
  call('del', KEYS[1])
  told = '0'
elseif count == 0 then
  call('set', KEYS[1], ARGV[2])
  told = '1'
elseif wanted < count then
  call('decrby', KEYS[1], count - wanted)
else
  call('incrby', KEYS[1], wanted - count)
  told = '1'
end
if #log >= 24 * most then log = string.sub(log, 25) end
call('set', KEYS[2], log .. mark .. struct.pack('<I8', wanted), 'PX', ARGV[8])
if told then
  redis.pcall('publish', ARGV[6], told)
  if ARGV[5] == '1' then redis.pcall('spublish', ARGV[6], told) end
end
return wanted
