-- SPDX-License-Identifier: MIT
-- Everything about one name, for people who look. Changes nothing.
-- KEYS: book [its other keys]. Answers the server's time and the capacity, then the record of each claim; nothing if
-- nobody is here.
local call, read = redis.call, struct.unpack
local v = call('GET', KEYS[1])
if not v then return {} end
local form = string.byte(v)
if form ~= 115 and form ~= 102 then return {} end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
if form == 115 then
  local cap, length = read('<I4I4', v, 68)
  return {now, cap, struct.pack('<BI8', 2, 1) .. string.sub(v, 18, 41 + length)}
end
local out = {now, read('<I4', v, 42)}
for _, rec in ipairs(call('HVALS', string.sub(KEYS[1], 1, -2) .. 'c')) do
  if string.byte(v, 62) == 3 and string.sub(rec, 68, 83) == string.sub(v, 63, 78) then
    rec = '\2' .. string.sub(rec, 2, 17) .. string.sub(v, 79, 94) .. string.sub(rec, 34)
  end
  if string.byte(rec) < 5 then out[#out + 1] = rec end
end
return out
