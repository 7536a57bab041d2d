-- SPDX-License-Identifier: MIT
-- Releases, one or several: to begin a script, and each call in it, takes the server longer than what most of them ask.
-- Without tokens, tombstones and signal lists. What goes wrong with one is told for that one.
-- KEYS: of each the lock, and the mark that says that somebody waits for it. ARGV: of each the value. Answers 1: all
-- were released; or of each what plain_leave.lua answers, in a list if there are several.
local call, try, keys, values = redis.call, redis.pcall, KEYS, ARGV
local tomb, keep, fields_kept, publish, channel, signal = '0', '0', '0', 'PUBLISH', nil, nil
local count = #values
if count == 1 and try('GET', keys[1]) == values[1] then
  if call('DEL', keys[1], keys[2]) == 1 then return 1 end
  local companion, value = string.sub(keys[2], 1, -2) .. 'c', values[1]
  --@ plain_part_tell.lua
  return 1
end

local there, locks, all = {}, {}, count > 1
if all then
  there = call('MGET', unpack(keys))
  for i = 1, count do
    locks[i] = keys[2 * i - 1]
    all = all and there[2 * i - 1] == values[i] and not there[2 * i]
  end
  if all and call('DEL', unpack(locks)) == count then return 1 end
end

local function leave(lock, companion, value)
  --@ plain_part_leave.lua
end
local held, out, free = {}, {}, {}
for i, value in ipairs(values) do
  local lock = keys[2 * i - 1]
  if there[2 * i - 1] == value and not free[lock] then
    free[lock] = true
    held[#held + 1] = lock
    held[#held + 1] = keys[2 * i]
    out[i] = 1
  end
end
if held[1] then call('DEL', unpack(held)) end
for i, value in ipairs(values) do
  local companion = string.sub(keys[2 * i], 1, -2) .. 'c'
  if not out[i] then -- it holds nothing: it waits, or is gone
    local good, said = pcall(leave, keys[2 * i - 1], companion, value)
    out[i] = good and said or {err = type(said) == 'table' and said.err or tostring(said)}
  elseif there[2 * i] then
    --@ plain_part_tell.lua
  end
end
return count == 1 and out[1] or out
