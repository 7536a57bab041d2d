-- SPDX-License-Identifier: MIT
-- Several releases in one: to begin a script, and each call in it, takes the server longer than what most of them ask.
-- Without tokens, tombstones and signal lists. What goes wrong with one is told for that one.
-- KEYS: of each the lock. ARGV: of each the value. Answers 1: all were released; or a list: of each what plain_leave.lua
-- answers.
local call, keys, values = redis.call, KEYS, ARGV
local count = #values
keys[count + 1] = 'ilk1:waits' -- no companion has anything in it that matters while this is not there
local there = call('MGET', unpack(keys))
keys[count + 1] = nil
local alone, all = not there[count + 1], true
for i = 1, count do all = all and there[i] == values[i] end
if all and alone and call('DEL', unpack(keys)) == count then return 1 end

local try = redis.pcall
local tomb, keep, fields_kept, publish, channel, signal = '0', '0', '0', 'PUBLISH', nil, nil
local function beside(lock) -- as plain_keys.cpp says; locks of its third form come alone
  local open = string.find(lock, '{', 1, true)
  local shut = open and string.find(lock, '}', open + 1, true)
  if shut and shut > open + 1 then return 'ilk1:' .. lock .. '::c' end
  return 'ilk1:{' .. lock .. '}:c'
end
local function leave(lock, companion, value)
  --@ plain_part_leave.lua
end
local held, out, free = {}, {}, {}
for i, value in ipairs(values) do
  local lock = keys[i]
  if there[i] == value and not free[lock] then
    free[lock] = true
    held[#held + 1] = lock
    out[i] = 1
  end
end
if held[1] then call('DEL', unpack(held)) end
for i, value in ipairs(values) do
  local companion = beside(keys[i])
  if not out[i] then -- it holds nothing: it waits, or is gone
    local good, said = pcall(leave, keys[i], companion, value)
    out[i] = good and said or {err = type(said) == 'table' and said.err or tostring(said)}
  elseif not alone and call('EXISTS', companion) == 1 then
    --@ plain_part_tell.lua
  end
end
return out
