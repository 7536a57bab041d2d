-- SPDX-License-Identifier: MIT
-- Begins every script of the Redisson layout: what interlock keeps beside a Redisson object, and the words the rest
-- is written in. Redisson never looks at these keys:
--   book  hash: claim -> since, token, tokens, mode, weight and who it is; "tok": the last token; "up": who upgrades
--   line  sorted set: waiting claim -> end of its lease, by the server's clock
--   tomb  string: "t" left for good, "e" evicted; outlives whatever it must stop
-- A claim `c` is a table of its keys and arguments. The files in the middle say what a claim is in one kind of object:
--   own(c)   nothing, or the mode in which the claim is held         keep(c)    renews what is held
--   take(c)  takes it if it is free now                              drop(c)    gives back what is held
--   way(c)   milliseconds until what is in the way may be over       enqueue(c), quit(c)  the object's own queue
--   holds(c, other), holders(c)  for sweeping the book               behind(c)  how many wait
local HELD, WAITING, BUSY, GONE, REFUSED = 0, 1, 2, 3, 4
local hour = 3600000
local time = redis.call('time')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local both_ways = ARGV[1] == '1'  -- a cluster that has sharded channels: peers listen on either kind
local tokens_from = ARGV[2]       -- 'counter', 'object' (RFencedLock's own), 'none'
local fair_wait = tonumber(ARGV[3])

-- Numbers of sixteen digits: tostring would round them.
local function text(number) return string.format('%.0f', number) end

-- Whoever may not publish must still be able to release.
local function publish(channel, payload)
  redis.pcall('publish', channel, payload)
  if both_ways then redis.pcall('spublish', channel, payload) end
end

-- Ends the work on this claim: its key is not what we take it for. Nothing has been changed.
local function refuse(why, detail) error({refused = {REFUSED, why, detail or ''}}) end

-- Never shortens; asked to live for much longer than it must, it needs no second command most of the time.
local function live_for(key, least, most)
  if redis.call('pttl', key) < least then redis.call('pexpire', key, most or least) end
end

local function tag_of(name)
  if string.find(name, '{', 1, true) then return name end
  return '{' .. name .. '}'
end

local function record_of(c, owner)
  local record = redis.call('hget', c.book, owner)
  if not record then return nil end
  local since, token, tokens, mode, weight, who = string.match(record, '^(%d+) (%d+) (%d+) (%a) (%d+) (.*)$')
  return {since = since, token = tonumber(token), tokens = tonumber(tokens), mode = mode, weight = weight, who = who}
end

-- held: token is the first of `tokens` reserved ones; waiting: token is 0 and `tokens` are wanted.
local function write_record(c, owner, token, tokens, mode, weight, who)
  redis.call('hset', c.book, owner, table.concat({text(now), text(token), text(tokens), mode, weight, who}, ' '))
end

local function fresh_tokens(c, count)
  if tokens_from == 'none' then return 0 end
  if c.counter then return redis.call('incrby', c.counter, count) - count + 1 end
  local last = tonumber(redis.call('hget', c.book, 'tok') or '0')
  local first = math.max(last + 1, micros)
  redis.call('hset', c.book, 'tok', text(first + count - 1))
  return first
end

-- Readers carry the last writer's.
local function current_token(c)
  if tokens_from == 'none' then return 0 end
  local last = redis.call('hget', c.book, 'tok')
  return last and tonumber(last) or fresh_tokens(c, 1)
end
