-- SPDX-License-Identifier: MIT
-- Renews what is held; lets who waits take what is free. Never creates a claim: a waiting one is known by its record.
-- KEYS: of each claim lock, companion and mark, as in plain_enter. ARGV: "token" or "none", keep, then for each claim:
-- value, lease, wait lease, "fresh" if it wants a new token.
-- Answers for each claim as plain_enter does, or {6, error}: what goes wrong with one does not stop the others.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i = 1, #KEYS / 3 do
  local lock, companion, mark = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local value, lease, wait_lease = ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1]
  local known = redis.pcall('HMGET', companion, value, 't', 'h')
  if known.err then known = {false, false, false} end
  local there = redis.pcall('GET', lock)
  local strange = type(there) == 'table'
  local note = known[1]
  local is = note and string.sub(note, 1, 1)
  local answer = {4, 0}
  if is == 'e' then
    answer = {4, 1}
  elseif not strange and there == value then
    redis.call('PEXPIRE', lock, lease)
    redis.pcall('PEXPIRE', companion, ARGV[2])
    local token = '0'
    if ARGV[4 * i + 2] == 'fresh' and ARGV[1] == 'token' then
      token = string.format('%.0f', math.max(tonumber(known[2] or '0') + 1, time[1] * 1000000 + time[2]))
      local who = known[3] and string.match(known[3], '^%d+ (.*)', 48) or ''
      redis.pcall('HSET', companion, 't', token, 'h', value .. string.format('%015.0f', now) .. token .. ' ' .. who)
    elseif known[3] and string.sub(known[3], 1, 32) == value then
      token = string.match(known[3], '^%d+', 48)
    end
    answer = token
  elseif is == 'w' and tonumber(string.sub(note, 2, 16)) >= now then
    if strange then
      answer = {5, redis.call('TYPE', lock).ok}
    elseif there then
      local ends = tonumber(string.sub(note, 2, 16))
      if (ends - now) * 3 < wait_lease * 2 then -- not at every look: each write goes to the replicas and the disk
        redis.pcall('HSET', companion, value, 'w' .. string.format('%015.0f', now + wait_lease) .. string.sub(note, 17))
        redis.pcall('PEXPIRE', companion, ARGV[2])
      end
      local life = wait_lease
      --@ plain_part_mark.lua
      local ahead = redis.call('HLEN', companion) - 1
      if known[2] then ahead = ahead - 1 end
      if known[3] then ahead = ahead - 1 end
      answer = {2, ahead, redis.call('PTTL', lock)}
    else
      local set = redis.pcall('SET', lock, value, 'NX', 'PX', lease)
      if type(set) == 'table' and set.err then
        answer = {6, set.err}
      else
        local token = '0'
        if ARGV[1] == 'token' then
          token = string.format('%.0f', math.max(tonumber(known[2] or '0') + 1, time[1] * 1000000 + time[2]))
          redis.pcall('HSET', companion, 't', token)
        end
        local who = value .. string.format('%015.0f', now) .. token .. ' ' .. string.sub(note, 32)
        redis.pcall('HSET', companion, 'h', who)
        redis.pcall('HDEL', companion, value)
        redis.pcall('PEXPIRE', companion, ARGV[2])
        local life = lease
        --@ plain_part_mark.lua
        answer = token
      end
    end
  elseif is == 'w' then
    redis.pcall('HDEL', companion, value)
  end
  answers[i] = answer
end
return answers
