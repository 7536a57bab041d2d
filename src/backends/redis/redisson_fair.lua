-- SPDX-License-Identifier: MIT
-- RLock made by getFairLock. The lock is the hash of RLock; `queue` is a list of who waits, `deadlines` says until when
-- each is believed to. Redisson writes its own host's time there, we write the server's.

local extra_keys = {'queue', 'deadlines'}
-- Everybody who waits is in the queue, so a process may keep the lock for its own threads while that is empty.
local token_blocks = true

local function channel_of(c, owner) return 'redisson_lock__channel:' .. tag_of(c.lock) .. ':' .. owner end

local function own(c)
  local count = redis.pcall('hget', c.lock, c.owner)
  if type(count) == 'table' then refuse('type') end
  return count and 'x'
end

-- Everybody behind has one less to wait for.
local function leave_queue(c, owner)
  local found = false
  for _, other in ipairs(redis.call('lrange', c.queue, 0, -1)) do
    if found then redis.call('zincrby', c.deadlines, -fair_wait, other) end
    found = found or other == owner
  end
  redis.call('zrem', c.deadlines, owner)
  redis.call('lrem', c.queue, 0, owner)
end

-- Takes out who is dead: of Redisson's only the first in line, as Redisson does; of ours everybody, because a dead one
-- of ours would hold up the line for five minutes and a lease of ours says more.
local function purge(c)
  for _, owner in ipairs(redis.call('zrangebyscore', c.line, '-inf', '(' .. text(now), 'limit', 0, 64)) do
    leave_queue(c, owner)
    redis.call('zrem', c.line, owner)
    redis.call('hdel', c.book, owner)
  end
  for _ = 1, 64 do
    local first = redis.call('lindex', c.queue, 0)
    local ends = first and redis.call('zscore', c.deadlines, first)
    if not ends or tonumber(ends) > now then return end
    redis.call('zrem', c.deadlines, first)
    redis.call('lpop', c.queue)
  end
end

local function let_in(c, owner, lease)
  redis.call('lpop', c.queue)
  redis.call('zrem', c.deadlines, owner)
  for _, other in ipairs(redis.call('zrange', c.deadlines, 0, -1)) do
    redis.call('zincrby', c.deadlines, -fair_wait, other)
  end
  redis.call('hset', c.lock, owner, 1)
  redis.call('pexpire', c.lock, lease)
end

-- The lock is free: the next in line, if it is one of ours, has it from now on, for as long as it has said it would
-- wait; anybody else is told to come and take it.
local function pass_on(c)
  purge(c)
  local first = redis.call('lindex', c.queue, 0)
  if not first then return end
  local ends = redis.call('zscore', c.line, first)
  local known = ends and record_of(c, first)
  if not known then return publish(channel_of(c, first), '0') end
  let_in(c, first, math.max(tonumber(ends) - now, 1))
  local token = fresh_tokens(c, known.tokens)
  write_record(c, first, token, known.tokens, 'x', known.weight, known.who)
  redis.call('zrem', c.line, first)
  live_for(c.book, hour / 2, hour)
  publish(channel_of(c, first),
          table.concat({'granted', text(token), text(known.tokens), redis.call('llen', c.queue)}, ' '))
end

local function take(c)
  purge(c)
  if redis.call('exists', c.lock) == 1 then
    if redis.call('hexists', c.lock, 'mode') == 1 then refuse('rw') end
    return false
  end
  local first = redis.call('lindex', c.queue, 0)
  if first and first ~= c.owner then return false end
  let_in(c, c.owner, c.lease)
  return true
end

local function keep(c) redis.call('pexpire', c.lock, c.lease) end

local function drop(c)
  redis.call('hdel', c.lock, c.owner)
  pass_on(c)
end

local function place_of(c)
  for i, owner in ipairs(redis.call('lrange', c.queue, 0, -1)) do
    if owner == c.owner then return i - 1 end
  end
  return nil
end

-- Whoever is let in before us takes fair_wait off our deadline, so there must be one for each of them in it.
local function enqueue(c)
  local ahead = place_of(c)
  local ends = redis.call('zscore', c.deadlines, c.owner)
  if ahead and ends then
    local least = now + fair_wait * (ahead + 1)
    if tonumber(ends) < least then redis.call('zadd', c.deadlines, text(least), c.owner) end
    return ahead, 0
  end
  local last = redis.call('lindex', c.queue, -1)
  local last_ends = last and last ~= c.owner and redis.call('zscore', c.deadlines, last)
  local base = last_ends and tonumber(last_ends) - now or redis.call('pttl', c.lock)
  redis.call('zadd', c.deadlines, text(now + base + fair_wait), c.owner)
  if not ahead then redis.call('rpush', c.queue, c.owner) end
  return place_of(c), 0
end

local function quit(c)
  leave_queue(c, c.owner)
  -- The news that the lock is free may have gone to us alone.
  if redis.call('exists', c.lock) == 0 then pass_on(c) end
end

-- Free, but somebody else's turn: until they are no longer believed to come.
local function way(c)
  local left = redis.call('pttl', c.lock)
  if left ~= -2 then return left end
  local first = redis.call('lindex', c.queue, 0)
  local ends = first and (redis.call('zscore', c.line, first) or redis.call('zscore', c.deadlines, first))
  return ends and tonumber(ends) - now or 0
end

local function holds(c, owner) return redis.call('hexists', c.lock, owner) == 1 end
local function holders() return 1 end
local function behind(c) return redis.call('llen', c.queue) end
