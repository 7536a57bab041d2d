-- SPDX-License-Identifier: MIT
-- Creates a claim, or answers how the one with this id stands.
-- KEYS: book [its other keys]. ARGV: the claim. Answers a list, or the token alone if it was granted as asked and nobody
-- else is here. What the bytes mean is said in native_part_open.lua.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local byte, sub = string.byte, string.sub
local book, mine = KEYS[1], ARGV[1]
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
--@ native_part_enter.lua
