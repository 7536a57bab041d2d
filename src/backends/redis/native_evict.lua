-- SPDX-License-Identifier: MIT
-- Ends the claim with this public handle: a holder is marked and told, and stays until its lease is over; by force, or
-- if it only waits, it ends now.
-- KEYS: book [its other keys]. ARGV: handle c16, force B. Answers 1; 0 if it was gone already.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local book, me = KEYS[1], ''
local v = redis.pcall('GET', book)
if not v then return 0 end
if v.err then return {-2, v.err} end
local handle, force = read('<c16B', ARGV[1])
local form = string.byte(v)
if form == 105 or (form == 115 and string.sub(v, 92, 107) ~= handle) then return 0 end
if form ~= 115 and form ~= 102 then return {-2, 'an unknown form'} end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
--@ native_common.lua
write_something()
open()
settle()
local all, found = call('HGETALL', claims), 0
for i = 1, #all, 2 do
  local id, rec = all[i], all[i + 1]
  local state = byte(rec)
  if state < 4 and sub(rec, 76, 91) == handle and tonumber(call('ZSCORE', ends_of, id)) >= now then
    found = 1
    tell(id, rec, 'e' .. id)
    if state == 1 or force == 1 then
      if state == 1 then call('ZREM', line, id) end
      uncount(rec, state)
      tombs = tombs + 1
      call('HSET', claims, id, '\6')
    else
      if state == 3 then up = false end
      call('HSET', claims, id, '\4' .. sub(rec, 2))
    end
    serve()
    break
  end
end
save()
return found
