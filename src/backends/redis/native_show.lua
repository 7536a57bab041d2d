-- SPDX-License-Identifier: MIT
-- Everything about one name, for people who look. Changes nothing.
-- KEYS: book [its other keys]. Answers the server's time and the capacity, then of each claim its record and the end of
-- its lease; nothing if nobody is here.
local call, read = redis.call, struct.unpack
local v = call('GET', KEYS[1])
if not v then return {} end
local form = string.byte(v)
if form ~= 115 and form ~= 102 then return {} end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
if form == 115 then
  local till, cap, length = read('<I8', v, 18), read('<I4I4', v, 68)
  return {now, cap, struct.pack('<BI8', 2, 1) .. string.sub(v, 26, 41 + length), till}
end
local base = string.sub(KEYS[1], 1, -2)
local out, n = {now, read('<I4', v, 42)}, 2
local ends = {}
local all = call('ZRANGE', base .. 'e', 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do ends[all[i]] = tonumber(all[i + 1]) end
all = call('HGETALL', base .. 'c')
for i = 1, #all, 2 do
  local rec, till = all[i + 1], ends[all[i]]
  if till and string.byte(rec) < 5 then
    out[n + 1], out[n + 2] = rec, till
    n = n + 2
  end
end
return out
