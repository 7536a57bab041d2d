-- SPDX-License-Identifier: MIT
-- Releases what is held, takes what waits out of the queue, and serves who is next.
-- KEYS: book [its other keys]. ARGV: id, and if it must never take effect afterwards, for how long to remember that.
-- Answers 0 gone, 1 left the queue, 2 released.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local book, me, tomb = KEYS[1], ARGV[1], ARGV[2]
local v = redis.pcall('GET', book)
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local form = 105
if v then
  if v.err then return {-2, v.err} end
  form = string.byte(v)
end
if not tomb then
  if form == 115 then
    local was = 0
    if read('<I8', v, 18) >= now then
      if string.sub(v, 76, 91) ~= me then return 0 end
      was = 2
    end
    local done = redis.pcall('SETRANGE', book, 0, 'i')
    if type(done) == 'table' then
      -- Out of memory: the first write must be one that needs none; those behind it may.
      call('PEXPIRE', book, math.max(3600000, math.ceil((read('<I8', v, 10) - now) / 1000)))
      call('SETRANGE', book, 0, 'i')
    end
    return was
  elseif form == 105 then
    return 0
  end
end
if form ~= 102 and form ~= 115 and form ~= 105 then return {-2, 'an unknown form'} end

--@ native_common.lua
if tomb and v then write_something() end
open()
settle()
local was, rec = 0, call('HGET', claims, me)
local state = rec and string.byte(rec)
if rec and state < 5 then
  if not some_left or tonumber(call('ZSCORE', ends_of, me)) >= now then was = state == 1 and 1 or 2 end
  call('ZREM', ends_of, me)
  call('HDEL', claims, me)
  if state == 1 then call('ZREM', line, me) end
  uncount(rec, state)
  rec = false
end
if tomb and not rec then
  tombs = tombs + 1
  lasts(me, now + tomb)
  call('HSET', claims, me, '\5')
end
serve()
save()
return was
