-- SPDX-License-Identifier: MIT
-- Ends a claim: a holder is marked and told, and stays until its lease is over; by force, or if it only waits, it ends
-- now.
-- KEYS: book [its other keys]. ARGV: id c16, force B. Answers 1; 0 if it was gone already.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local byte, sub = string.byte, string.sub
local book, me = KEYS[1], ''
local v = call('GET', book)
if not v then return 0 end
local id, force = read('<c16B', ARGV[1])
local form = byte(v)
if form == 105 or (form == 115 and sub(v, 76, 91) ~= id) then return 0 end
if form ~= 115 and form ~= 102 then return redis.error_reply('WRONGTYPE not a lock') end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
--@ native_part_touch.lua
--@ native_part_open.lua
--@ native_part_check.lua
--@ native_part_settle.lua
local rec, found = call('HGET', claims, id), 0
local state = rec and byte(rec)
if rec and state < 4 then
  found = 1
  local channel = byte(rec, 84)
  if channel > 0 then redis.pcall('PUBLISH', sub(rec, 85, 84 + channel), 'e' .. id) end
  if state == 3 then up = false end
  if state == 1 then
    waiting = waiting - 1
    --@ native_part_place.lua
    torn = call('LREM', line, '1', place) == 0 or torn
  else
    sole = false
    if force == 1 then held, used = held - 1, used - read('<I4', rec, 56) end
  end
  if state == 1 or force == 1 then
    tombs = tombs + 1
    call('HSET', claims, id, '\6' .. sub(rec, 2, 17))
  else
    call('HSET', claims, id, '\4' .. sub(rec, 2))
  end
end
--@ native_part_serve.lua
local answer = {}
--@ native_part_save.lua
return found
