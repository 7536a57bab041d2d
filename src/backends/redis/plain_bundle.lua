-- SPDX-License-Identifier: MIT
-- Several attempts to take a lock, and releases, in one: to begin a script takes the server longer than what most of
-- them ask. Without tokens, tombstones and signal lists. What goes wrong with one is told for that one.
-- KEYS: of each lock, companion. ARGV: of each the value, and behind it the lease if it is to be taken.
-- Answers a list: of each attempt 1 taken, nil not; of each release what plain_leave.lua answers.
local call, sub = redis.call, string.sub
local tomb, keep, fields_kept, publish, channel, signal = '0', '0', '0', 'PUBLISH', nil, nil
local function enter(lock, _, asked)
  return call('SET', lock, sub(asked, 1, 32), 'NX', 'PX', sub(asked, 33)) and 1
end
local function leave(lock, companion, value)
  --@ plain_part_leave.lua
end
local out = {}
for i = 1, #ARGV do
  local asked = ARGV[i]
  local good, said = pcall(#asked == 32 and leave or enter, KEYS[2 * i - 1], KEYS[2 * i], asked)
  if not good then said = {err = type(said) == 'table' and said.err or tostring(said)} end
  out[i] = said
end
return out
