-- SPDX-License-Identifier: MIT
-- Ends the common part: what happens to a claim of any kind. Follows the file that says what the kind is.

-- What claims that died without a word left in the book.
local function sweep(c)
  if redis.call('hlen', c.book) <= redis.call('zcard', c.line) + holders(c) + 2 then return end
  for _, owner in ipairs(redis.call('hkeys', c.book)) do
    if owner ~= 'tok' and owner ~= 'up' and not redis.call('zscore', c.line, owner) and not holds(c, owner) then
      redis.call('hdel', c.book, owner)
    end
  end
end

local function granted(c, mode)
  local count = (mode == 's' or not token_blocks) and 1 or c.tokens
  local known = not c.who and record_of(c, c.owner)
  local token = mode == 's' and current_token(c) or fresh_tokens(c, count)
  write_record(c, c.owner, token, count, mode, c.weight, c.who or (known and known.who) or '')
  redis.call('zrem', c.line, c.owner)
  live_for(c.book, c.lease + hour / 2, c.lease + hour)
  sweep(c)
  return {HELD, mode, token, count, 0, behind(c), 0}
end

-- Held already: renewed, and the answer that was perhaps lost is given again.
local function held(c, mode, fresh)
  mode = keep(c, mode) or mode
  local known = record_of(c, c.owner)
  if not known or known.mode ~= mode or (fresh and c.tokens > 1 and mode ~= 's') then
    c.who = known and known.who or c.who
    return granted(c, mode)
  end
  live_for(c.book, c.lease + 60000, c.lease + hour)
  -- Redisson's readers leave without a word while one of them stays: who waits for them must look.
  return {HELD, mode, known.token, known.tokens, c.upgrading and 1 or 0, behind(c), c.upgrading and 250 or 0}
end

local function gone(mark) return {GONE, mark == 'e' and 'e' or 'u', 0, 0, 0, 0, 0} end

-- Out of the queue without a grant, and out of the book.
local function over(c)
  if redis.call('zrem', c.line, c.owner) == 1 then quit(c) end
  redis.call('hdel', c.book, c.owner)
  return gone('u')
end

local function waiting(c)
  redis.call('zadd', c.line, math.max(now + c.wait, tonumber(redis.call('zscore', c.line, c.owner) or '0')), c.owner)
  live_for(c.line, c.wait + 60000)
  live_for(c.book, c.wait + 60000, c.wait + hour)
  local ahead, free = enqueue(c)
  return {WAITING, c.mode, 0, 0, ahead, free, math.max(way(c), 0)}
end

local function enter(c, queue)
  local mark = redis.call('get', c.tomb)
  if mark then return gone(mark) end
  local mine = own(c)
  if mine then return held(c, mine, false) end
  local ends = redis.call('zscore', c.line, c.owner)  -- asked before, and the answer was lost
  if ends and tonumber(ends) < now then return over(c) end
  if take(c) then return granted(c, c.mode) end
  if not queue then
    if ends then over(c) end
    return {BUSY, c.mode, 0, 0, 0, 0, math.max(way(c), 0)}
  end
  if not ends then write_record(c, c.owner, 0, c.tokens, c.mode, c.weight, c.who) end
  return waiting(c)
end

local function look(c)
  local mark = redis.call('get', c.tomb)
  if mark then return gone(mark) end
  local mine = own(c)
  if mine then return held(c, mine, true) end
  local ends = redis.call('zscore', c.line, c.owner)
  if ends and tonumber(ends) >= now then
    if take(c) then return granted(c, c.mode) end
    return waiting(c)
  end
  return over(c)
end

-- 'r' it was held, 'l' it was waiting, 'g' it was not there.
local function leave(c)
  local was = 'g'
  local fine, mine = pcall(own, c)
  if not fine and not (type(mine) == 'table' and mine.refused) then error(mine) end
  if fine and mine then
    drop(c)
    was = 'r'
  else
    local ends = redis.call('zscore', c.line, c.owner)
    if ends and tonumber(ends) >= now then was = 'l' end
  end
  over(c)
  return was
end

-- The i-th claim of the call.
local function claim_at(i)
  local names = {'lock', 'book', 'line', 'tomb', unpack(extra_keys)}
  local key, arg, c = i * #names, 3 + i * 7, {}
  for k, name in ipairs(names) do c[name] = KEYS[key + k] end
  c.owner, c.mode = ARGV[arg + 1], ARGV[arg + 2]
  c.lease, c.wait, c.tokens = tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5])
  c.weight, c.capacity = tonumber(ARGV[arg + 6]), tonumber(ARGV[arg + 7])
  return c
end

local function guarded(work, ...)
  local fine, got = pcall(work, ...)
  if fine then return got end
  if type(got) == 'table' and got.refused then return got.refused end
  return redis.error_reply(type(got) == 'table' and got.err or tostring(got))
end
