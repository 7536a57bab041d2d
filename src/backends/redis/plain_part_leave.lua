-- SPDX-License-Identifier: MIT
-- Releases, or stops waiting. Expects what plain_leave.lua is given, call and try.
local was = 0
if try('GET', lock) == value then
  if signal then
    call('DEL', signal)
    call('LPUSH', signal, '1')
    call('PEXPIRE', signal, '1000')
  end
  call('DEL', lock)
  if fields_kept == '0' and tomb == '0' and call('EXISTS', companion) == 0 then return 1 end
  --@ plain_part_tell.lua
  if tomb == '0' then return 1 end
  was = 1
end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local note = call('HGET', companion, value)
local is = note and string.sub(note, 1, 1)
if is == 'w' then
  call('HDEL', companion, value)
  if tonumber(string.sub(note, 2, 16)) >= now then was = 2 end
end
if tomb ~= '0' and is ~= 'e' then
  call('PEXPIRE', companion, keep) -- a write that needs no memory: the next one then happens without any, too
  call('HSET', companion, value, 'x' .. string.format('%015.0f', now + tomb) .. string.format('%015.0f', now))
  call('PEXPIRE', companion, keep)
end
return was
