-- SPDX-License-Identifier: MIT
-- Releases, or stops waiting. Expects what plain_leave.lua is given.
local was = 0
if redis.pcall('GET', lock) == value then
  if signal then
    redis.call('DEL', signal)
    redis.call('LPUSH', signal, '1')
    redis.call('PEXPIRE', signal, '1000')
  end
  redis.call('DEL', lock)
  if fields_kept == '0' and tomb == '0' and redis.call('EXISTS', companion) == 0 then return 1 end
  -- Protected from here on: whatever the companion has become, the lock is free.
  redis.pcall('HDEL', companion, 'h', value)
  local fields = redis.pcall('HLEN', companion)
  if type(fields) == 'number' and fields > tonumber(fields_kept) then
    redis.pcall(publish, channel or string.sub(companion, 1, -2) .. 'n', 'free')
  end
  if tomb == '0' then return 1 end
  was = 1
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local note = redis.call('HGET', companion, value)
local is = note and string.sub(note, 1, 1)
if is == 'w' then
  redis.call('HDEL', companion, value)
  if tonumber(string.sub(note, 2, 16)) >= now then was = 2 end
end
if tomb ~= '0' and is ~= 'e' then
  redis.call('PEXPIRE', companion, keep) -- a write that needs no memory: the next one then happens without any, too
  redis.call('HSET', companion, value, 'x' .. string.format('%015.0f', now + tomb) .. string.format('%015.0f', now))
  redis.call('PEXPIRE', companion, keep)
end
return was
