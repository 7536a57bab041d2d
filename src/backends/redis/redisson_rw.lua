-- SPDX-License-Identifier: MIT
-- RReadWriteLock. The lock is a hash: mode -> read or write, each reader -> 1, the writer with ":write" -> 1. Each
-- reader's lease is a key of its own; Redisson deletes the lock when it finds none of these left, whoever is in the
-- hash.

local extra_keys = {'timeout'}
-- See redisson_lock.lua.
local token_blocks = false

local function timeout_of(c, owner, i) return tag_of(c.lock) .. ':' .. owner .. ':rwlock_timeout:' .. i end
local function channel_of(c) return 'redisson_rwlock:' .. tag_of(c.lock) end

-- How long this reader's longest hold still lives; below 0: it has run out.
local function reader_left(c, owner, count)
  local most = -2
  for i = 1, count do most = math.max(most, redis.call('pttl', timeout_of(c, owner, i))) end
  return most
end

-- How long the longest reader still lives, the given one apart.
local function readers_left(c, apart)
  local most, fields = -2, redis.call('hgetall', c.lock)
  for i = 1, #fields, 2 do
    local count = tonumber(fields[i + 1])
    if count and fields[i] ~= apart then most = math.max(most, reader_left(c, fields[i], count)) end
  end
  return most
end

local function upgrader(c)
  local who = redis.call('hget', c.book, 'up')
  if who and redis.call('exists', timeout_of(c, who, 1)) == 0 then
    redis.call('hdel', c.book, 'up')
    return nil
  end
  return who
end

local function stop_reading(c)
  local count = tonumber(redis.call('hget', c.lock, c.owner)) or 0
  redis.call('hdel', c.lock, c.owner)
  for i = 1, count do redis.call('del', timeout_of(c, c.owner, i)) end
  if redis.call('hget', c.book, 'up') == c.owner then redis.call('hdel', c.book, 'up') end
  if redis.call('hlen', c.lock) > 1 then
    local left = readers_left(c)
    if left > 0 then
      redis.call('pexpire', c.lock, left)
      if upgrader(c) then publish(channel_of(c), '1') end
      return
    end
    if redis.call('hget', c.lock, 'mode') == 'write' then return end
  end
  redis.call('del', c.lock)
  publish(channel_of(c), '0')
end

local function own(c)
  local found = redis.pcall('hmget', c.lock, c.owner .. ':write', c.owner)
  if found.err then refuse('type') end
  if found[1] then return 'x' end
  if not found[2] then return nil end
  if reader_left(c, c.owner, tonumber(found[2])) > 0 then return 's' end
  stop_reading(c)  -- ran out, although others keep the hash alive
  return nil
end

local function take(c)
  local mode = redis.call('hget', c.lock, 'mode')
  if not mode and redis.call('exists', c.lock) == 1 then refuse('lock') end
  if c.mode == 'x' then
    if mode then return false end
    redis.call('hset', c.lock, 'mode', 'write', c.owner .. ':write', 1)
    redis.call('pexpire', c.lock, c.lease)
    return true
  end
  if mode == 'write' or upgrader(c) then return false end
  redis.call('hset', c.lock, 'mode', 'read', c.owner, 1)
  redis.call('set', timeout_of(c, c.owner, 1), 1, 'px', c.lease)
  live_for(c.lock, c.lease)
  return true
end

-- Only a reader that is alone can become the writer: what is left of readers that ran out goes.
local function write_instead(c)
  if readers_left(c, c.owner) > 0 then return false end
  for i = 1, tonumber(redis.call('hget', c.lock, c.owner)) do redis.call('del', timeout_of(c, c.owner, i)) end
  redis.call('hdel', c.book, 'up')
  redis.call('del', c.lock)
  redis.call('hset', c.lock, 'mode', 'write', c.owner .. ':write', 1)
  redis.call('pexpire', c.lock, c.lease)
  return true
end

-- Redisson's own step from writing to reading tells nobody; readers that wait should know.
local function read_instead(c)
  redis.call('hdel', c.lock, c.owner .. ':write')
  redis.call('hset', c.lock, 'mode', 'read', c.owner, 1)
  redis.call('set', timeout_of(c, c.owner, 1), 1, 'px', c.lease)
  live_for(c.lock, c.lease)
  publish(channel_of(c), '1')
end

local function keep(c, mode)
  if mode == 's' then
    c.upgrading = redis.call('hget', c.book, 'up') == c.owner
    if c.upgrading and write_instead(c) then return 'x' end
    redis.call('pexpire', timeout_of(c, c.owner, 1), c.lease)
  end
  live_for(c.lock, c.lease)
end

local function drop(c)
  if redis.call('hdel', c.lock, c.owner .. ':write') == 0 then return stop_reading(c) end
  if redis.call('hlen', c.lock) == 1 then
    redis.call('del', c.lock)
  else
    redis.call('hset', c.lock, 'mode', 'read')
  end
  publish(channel_of(c), '1')
end

local function way(c) return redis.call('pttl', c.lock) end
local function enqueue() return 0, 0 end
local function quit() end
local function holds(c, owner)
  return redis.call('hexists', c.lock, owner) == 1 or redis.call('hexists', c.lock, owner .. ':write') == 1
end
local function holders(c) return redis.call('hlen', c.lock) end
local function behind() return 1 end
