-- SPDX-License-Identifier: MIT
-- RLock and RFencedLock. The lock is a hash: its one owner -> how often it has entered, which for us is once.

local extra_keys = {'queue', 'deadlines', tokens_from == 'object' and 'counter' or nil}
-- Passing a lock from thread to thread inside our process would keep out waiters we cannot see: one token at a time.
local token_blocks = false

-- A fair lock under the same name: taking it from under its queue would be unfair, and our release would wake nobody.
local function beside_a_queue(c)
  local first = redis.call('lindex', c.queue, 0)
  local ends = first and redis.call('zscore', c.deadlines, first)
  return ends and tonumber(ends) > now
end

local function own(c)
  local count = redis.pcall('hget', c.lock, c.owner)
  if type(count) == 'table' then refuse('type') end
  return count and 'x'
end

local function take(c)
  if redis.call('exists', c.lock) == 1 then
    if redis.call('hexists', c.lock, 'mode') == 1 then refuse('rw') end
    return false
  end
  if beside_a_queue(c) then refuse('fair') end
  redis.call('hset', c.lock, c.owner, 1)
  redis.call('pexpire', c.lock, c.lease)
  return true
end

local function keep(c) redis.call('pexpire', c.lock, c.lease) end

-- Removing the only field removes the key.
local function drop(c)
  redis.call('hdel', c.lock, c.owner)
  publish('redisson_lock__channel:' .. tag_of(c.lock), '0')
end

local function way(c) return redis.call('pttl', c.lock) end
local function enqueue() return 0, 0 end
local function quit() end
local function holds(c, owner) return redis.call('hexists', c.lock, owner) == 1 end
local function holders() return 1 end
-- Whoever waits in a Redisson process is not seen from here: assume that somebody does.
local function behind() return 1 end
