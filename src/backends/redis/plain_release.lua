-- SPDX-License-Identifier: MIT
-- Releases, one or several: to begin a script, and each call in it, takes the server longer than what most of them ask.
-- Without tokens, tombstones and signal lists. What goes wrong with one is told for that one.
-- KEYS: the locks, none of them with a } in it. The other keys of each are made from it here, as in plain_keys.cpp: to
-- be told one more costs the server more. ARGV: of each the value. Answers 1: all were released; or of each what
-- plain_leave.lua answers, in a list if there are several.
local call, try, keys, values = redis.call, redis.pcall, KEYS, ARGV
local count = #values
local alone = count == 1 and try('GET', keys[1]) == values[1]
if alone and call('DEL', keys[1], 'ilk1:{' .. keys[1] .. '}:m') == 1 then return 1 end
local tomb, keep, fields_kept, publish, channel, signal = '0', '0', '0', 'PUBLISH', nil, nil
if alone then
  local companion, value = 'ilk1:{' .. keys[1] .. '}:c', values[1]
  --@ plain_part_tell.lua
  return 1
end

local there, all = {}, count > 1
if all then
  local asked = {unpack(keys)}
  for i = 1, count do asked[count + i] = 'ilk1:{' .. keys[i] .. '}:m' end
  there = call('MGET', unpack(asked))
  for i = 1, count do all = all and there[i] == values[i] and not there[count + i] end
  if all and call('DEL', unpack(keys)) == count then return 1 end
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
    held[#held + 1] = 'ilk1:{' .. lock .. '}:m'
    out[i] = 1
  end
end
if held[1] then call('DEL', unpack(held)) end
for i, value in ipairs(values) do
  local companion = 'ilk1:{' .. keys[i] .. '}:c'
  if not out[i] then -- it holds nothing: it waits, or is gone
    local good, said = pcall(leave, keys[i], companion, value)
    out[i] = good and said or {err = type(said) == 'table' and said.err or tostring(said)}
  elseif there[count + i] then
    --@ plain_part_tell.lua
  end
end
return count == 1 and out[1] or out
