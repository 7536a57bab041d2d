-- SPDX-License-Identifier: MIT
-- Releases what is held, takes what waits out of the queue, and serves who is next.
-- KEYS: book [its other keys]. ARGV: id, and if it must never take effect afterwards, for how many microseconds to
-- remember that. Answers 0 gone, 1 left the queue, 2 released.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local byte, sub = string.byte, string.sub
local book, me, tomb = KEYS[1], ARGV[1], ARGV[2]
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
--@ native_part_leave.lua
