-- SPDX-License-Identifier: MIT
-- Several releases in one: to begin a script takes the server longer than what most of them ask. Without tokens,
-- tombstones and signal lists. What goes wrong with one is told for that one.
-- KEYS: of each lock, companion. ARGV: of each the value. Answers a list: of each what plain_leave.lua answers.
local call, try, keys = redis.call, redis.pcall, KEYS
local tomb, keep, fields_kept, publish, channel, signal = '0', '0', '0', 'PUBLISH', nil, nil
local function leave(lock, companion, value)
  --@ plain_part_leave.lua
end
local out = {}
for i, value in ipairs(ARGV) do
  local good, said = pcall(leave, keys[2 * i - 1], keys[2 * i], value)
  if not good then said = {err = type(said) == 'table' and said.err or tostring(said)} end
  out[i] = said
end
return out
