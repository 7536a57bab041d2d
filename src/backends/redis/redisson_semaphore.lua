-- SPDX-License-Identifier: MIT
-- RPermitExpirableSemaphore. The lock is a string: how many permits are free. `permits` is a sorted set: permit, sixteen
-- bytes -> when it ends. A claim of weight k has k permits, counted up from its own sixteen bytes. `limit` is a string:
-- how many permits there are in all, if it was us who said so.

local extra_keys = {'permits', 'limit'}
local token_blocks = false
local never = 922337203685477
local most_at_once = 64

local function channel_of(c) return 'redisson_sc:' .. tag_of(c.lock) end

local function permits_of(c)
  if c.weight == 1 then return {c.owner} end
  local out, first = {}, struct.unpack('>I4', c.owner, 13)
  for i = 0, c.weight - 1 do
    out[i + 1] = string.sub(c.owner, 1, 12) .. struct.pack('>I4', (first + i) % 4294967296)
  end
  return out
end

local function give_back(c, permits)
  local count = 0
  for _, permit in ipairs(permits) do count = count + redis.call('zrem', c.permits, permit) end
  if count == 0 then return end
  local free = redis.call('incrby', c.lock, count)
  -- One permit: how many are free now. Several: how many came back. That is what Redisson says, too.
  publish(channel_of(c), text(#permits == 1 and free or count))
end

local function own(c)
  local mine, there, good = permits_of(c), 0, 0
  for _, permit in ipairs(mine) do
    local ends = redis.pcall('zscore', c.permits, permit)
    if type(ends) == 'table' then refuse('type') end
    if ends then there = there + 1 end
    if ends and tonumber(ends) >= now then good = good + 1 end
  end
  if good == c.weight then return 'x' end
  if there > 0 then give_back(c, mine) end  -- ran out, or somebody gave back a part
  return nil
end

local function reclaim(c)
  local ended = redis.call('zrangebyscore', c.permits, 0, '(' .. text(now), 'limit', 0, most_at_once + c.weight)
  if #ended == 0 then return end
  for _, permit in ipairs(ended) do redis.call('zrem', c.permits, permit) end
  local free = redis.call('incrby', c.lock, #ended)
  if free > 0 then publish(channel_of(c), text(free)) end
end

-- The permits in all are the free ones and those in the set. Nobody changes that number but whoever set it up.
local function agree(c, free)
  local used = redis.call('zcard', c.permits)
  if free + used == c.capacity then return free end
  if used > 0 or redis.call('get', c.limit) ~= text(free) then refuse('limit', text(free + used)) end
  redis.call('set', c.lock, c.capacity)
  redis.call('set', c.limit, c.capacity)
  return c.capacity
end

local function free_permits(c)
  local free = redis.pcall('get', c.lock)
  if type(free) == 'table' then refuse('type') end
  if not free then
    redis.call('set', c.lock, c.capacity)
    redis.call('set', c.limit, c.capacity)
    publish(channel_of(c), text(c.capacity))
    return c.capacity
  end
  if not tonumber(free) then refuse('type') end
  reclaim(c)
  return agree(c, tonumber(redis.call('get', c.lock)))
end

local function take(c)
  if free_permits(c) < c.weight then return false end
  redis.call('decrby', c.lock, c.weight)
  for _, permit in ipairs(permits_of(c)) do redis.call('zadd', c.permits, text(now + c.lease), permit) end
  local left = redis.call('pttl', c.lock)
  if left > 0 then redis.call('pexpire', c.permits, left) end
  return true
end

-- The first command is one that a server without memory still does; behind it, so are the others.
local function keep(c)
  redis.call('pexpire', c.book, c.lease + hour)
  for _, permit in ipairs(permits_of(c)) do redis.call('zadd', c.permits, 'xx', text(now + c.lease), permit) end
end

local function drop(c) give_back(c, permits_of(c)) end

local function way(c)
  local first = redis.call('zrange', c.permits, 0, 0, 'withscores')
  local ends = tonumber(first[2])
  return ends and ends < never and ends - now or 0
end

local function enqueue(c) return 0, tonumber(redis.call('get', c.lock)) or 0 end
local function quit() end
local function holds(c, owner) return redis.call('zscore', c.permits, owner) end
local function holders(c) return redis.call('zcard', c.permits) end
local function behind() return 1 end
