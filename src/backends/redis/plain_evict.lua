-- SPDX-License-Identifier: MIT
-- Ends one claim, by the exact value that was seen. Gently: it is marked, and its own next look finds the mark.
-- KEYS: lock, companion, signal list if there is one. ARGV: value, "mark" or "force", "known" if a holder that has no
-- record must not be marked, milliseconds that a mark outlives the claim, keep, PUBLISH or SPUBLISH, channel.
-- Answers: 1 done | 0 it was gone | 2 that holder does not look for marks
local value = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mark = string.format('%015.0f', now)
local ours = #value == 32 -- others' values of another length never become fields of the companion
local known = redis.call('HMGET', KEYS[2], value, 'h')
local note = ours and known[1]
if redis.pcall('GET', KEYS[1]) == value then
  if ARGV[2] == 'mark' then
    if note then return 0 end -- marked already
    local recorded = known[2] and string.sub(known[2], 1, 32) == value
    if not ours or (ARGV[3] == 'known' and not recorded) then return 2 end
    local left = redis.call('PTTL', KEYS[1])
    if left < 0 then left = tonumber(ARGV[5]) end
    redis.call('HSET', KEYS[2], value, 'e' .. string.format('%015.0f', now + left + ARGV[4]) .. mark)
    redis.call('PEXPIRE', KEYS[2], ARGV[5])
    redis.call('SET', string.sub(KEYS[2], 1, -2) .. 'm', '1', 'PX', left + ARGV[4]) -- its release clears up
    return 1
  end
  if KEYS[3] then
    redis.call('DEL', KEYS[3])
    redis.call('LPUSH', KEYS[3], '1')
    redis.call('PEXPIRE', KEYS[3], 1000)
  end
  redis.call('DEL', KEYS[1])
  redis.call('HDEL', KEYS[2], 'h')
  redis.pcall(ARGV[6], ARGV[7], 'free')
  if not ours then return 1 end
elseif not note or string.sub(note, 1, 1) ~= 'w' or tonumber(string.sub(note, 2, 16)) < now then
  return 0
end
redis.call('HSET', KEYS[2], value, 'e' .. string.format('%015.0f', now + ARGV[4]) .. mark)
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
