-- SPDX-License-Identifier: MIT
-- Releases, or stops waiting. Deletes the lock only if it holds exactly this claim's value.
-- KEYS: lock, companion, and the list that python-redis-lock's waiters block on, if there is one.
-- ARGV: value, milliseconds of a tombstone ("0": none), keep, fields of a companion that nobody waits in, PUBLISH or
-- SPUBLISH, channel. The value alone: no tombstone, no fields, PUBLISH, and the channel whose name goes with the
-- companion's.
-- Answers: 1 released | 2 left the queue | 0 gone
local value, tomb, fields_kept = ARGV[1], ARGV[2] or '0', ARGV[4] or '0'
local was = 0
if redis.pcall('GET', KEYS[1]) == value then
  if KEYS[3] then
    redis.call('DEL', KEYS[3])
    redis.call('LPUSH', KEYS[3], '1')
    redis.call('PEXPIRE', KEYS[3], 1000)
  end
  redis.call('DEL', KEYS[1])
  if fields_kept == '0' and tomb == '0' and redis.call('EXISTS', KEYS[2]) == 0 then return 1 end
  -- Protected from here on: whatever the companion has become, the lock is free.
  redis.pcall('HDEL', KEYS[2], 'h', value)
  local fields = redis.pcall('HLEN', KEYS[2])
  if type(fields) == 'number' and fields > tonumber(fields_kept) then
    redis.pcall(ARGV[5] or 'PUBLISH', ARGV[6] or string.sub(KEYS[2], 1, -2) .. 'n', 'free')
  end
  if tomb == '0' then return 1 end
  was = 1
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local note = redis.call('HGET', KEYS[2], value)
local is = note and string.sub(note, 1, 1)
if is == 'w' then
  redis.call('HDEL', KEYS[2], value)
  if tonumber(string.sub(note, 2, 16)) >= now then was = 2 end
end
if tomb ~= '0' and is ~= 'e' then
  redis.call('PEXPIRE', KEYS[2], ARGV[3]) -- a write that needs no memory: the next one then happens without any, too
  redis.call('HSET', KEYS[2], value, 'x' .. string.format('%015.0f', now + tomb) .. string.format('%015.0f', now))
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return was
