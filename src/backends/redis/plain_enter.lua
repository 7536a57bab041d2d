-- SPDX-License-Identifier: MIT
-- Takes the lock, or joins those who wait for it, or says that it is busy.
-- KEYS: lock, companion, and the mark that says that there is something in it for whoever releases the lock.
-- ARGV: value, lease, wait lease, "queue" or "attempt", "token" or "none", who, keep.
-- Answers: token if held ("0": none) | {2, ahead, ms left} waiting | {3, ms left} busy | {4, 1 if evicted} gone
--        | {5, type} the key is no string
local value = ARGV[1]
local known = redis.call('HMGET', KEYS[2], value, 't', 'h')
local note = known[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if note then
  local is = string.sub(note, 1, 1)
  if is == 'x' then return {4, 0} end
  if is == 'e' then return {4, 1} end
  if tonumber(string.sub(note, 2, 16)) < now then -- it ran out in the queue, and is never granted afterwards
    redis.call('HDEL', KEYS[2], value)
    return {4, 0}
  end
end

local token = '0'
if redis.call('SET', KEYS[1], value, 'NX', 'PX', ARGV[2]) then
  if ARGV[5] == 'token' then
    token = string.format('%.0f', math.max(tonumber(known[2] or '0') + 1, time[1] * 1000000 + time[2]))
    redis.call('HSET', KEYS[2], 't', token, 'h', value .. string.format('%015.0f', now) .. token .. ' ' .. ARGV[6])
  else
    redis.call('HSET', KEYS[2], 'h', value .. string.format('%015.0f', now) .. token .. ' ' .. ARGV[6])
    local mark, life = KEYS[3], ARGV[2]
    --@ plain_part_mark.lua
  end
  if not known[2] then redis.call('PEXPIRE', KEYS[2], ARGV[7]) end -- looks do it from then on
  if note then redis.call('HDEL', KEYS[2], value) end
  return token
end

local there = redis.pcall('GET', KEYS[1])
if type(there) == 'table' then return {5, redis.call('TYPE', KEYS[1]).ok} end
if there == value then -- an earlier enter of ours, whose answer was lost
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  if known[3] and string.sub(known[3], 1, 32) == value then token = string.match(known[3], '^%d+', 48) end
  return token
end

local left = redis.call('PTTL', KEYS[1])
if ARGV[4] == 'attempt' then
  if note then redis.call('HDEL', KEYS[2], value) end
  return {3, left}
end
local since = string.format('%015.0f', now)
if note then since = string.sub(note, 17, 31) end
redis.call('HSET', KEYS[2], value, 'w' .. string.format('%015.0f', now + ARGV[3]) .. since .. ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
local mark, life = KEYS[3], ARGV[3]
--@ plain_part_mark.lua
local ahead = redis.call('HLEN', KEYS[2]) - 1
if known[2] then ahead = ahead - 1 end
if known[3] then ahead = ahead - 1 end
return {2, ahead, left}
