-- SPDX-License-Identifier: MIT
-- Changes a cell if it is as expected: core::cell_record has the same rules.
-- KEYS: the cell. ARGV: expected version, '1' to write or '0' to remove, value, mark c16, '1' if it was asked before,
-- milliseconds to keep (0: for ever), channel, how many marks to remember.
-- Answers the version it made; 0: it is another than expected; -1: too much has happened to tell; -2: nothing to remove.
--
-- A cell: form B 'c', last version I8, there B, length I4, value, then for each remembered change mark c16, version I8,
-- oldest first. Versions are the server's microseconds, and above the last one: they rise after the key is gone, too.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write, sub = redis.call, struct.unpack, struct.pack, string.sub
local expected, mark, most = tonumber(ARGV[1]), ARGV[4], tonumber(ARGV[8])
local v = call('GET', KEYS[1])
local form, last, there, length, log = 0, 0, 0, 0, ''
if v then
  if string.byte(v) ~= 99 then return redis.error_reply('WRONGTYPE not a cell') end
  form, last, there, length = read('<BI8BI4', v)
  log = sub(v, 15 + length)
end
for i = 1, #log, 24 do
  if sub(log, i, i + 15) == mark then return (read('<I8', log, i + 16)) end
end
if (there == 1 and last or 0) ~= expected then
  if ARGV[5] == '1' and #log >= 24 * most and read('<I8', log, 17) > expected then return -1 end
  return 0
end
local writes = ARGV[2] == '1'
if there == 0 and not writes then return -2 end
local clock = call('TIME')
local made = clock[1] * 1000000 + clock[2]
if made <= last then made = last + 1 end
if #log >= 24 * most then log = sub(log, 25) end
local value = writes and ARGV[3] or ''
local text = write('<BI8BI4', 99, made, writes and 1 or 0, #value) .. value .. log .. mark .. write('<I8', made)
if ARGV[6] == '0' then
  call('SET', KEYS[1], text)
else
  call('SET', KEYS[1], text, 'PX', ARGV[6])
end
redis.pcall('PUBLISH', ARGV[7], string.format('%.0f', made))
return made
