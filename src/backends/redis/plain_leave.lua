-- SPDX-License-Identifier: MIT
-- Releases, or stops waiting. Deletes the lock only if it holds exactly this claim's value.
-- KEYS: lock, companion, and the list that python-redis-lock's waiters block on, if there is one.
-- ARGV: value, milliseconds of a tombstone ("0": none), keep, fields of a companion that nobody waits in, PUBLISH or
-- SPUBLISH, channel.
-- Answers: 1 released | 2 left the queue | 0 gone
local call, try, keys, given = redis.call, redis.pcall, KEYS, ARGV
local lock, companion, signal, value = keys[1], keys[2], keys[3], given[1]
local tomb, keep, fields_kept, publish, channel = unpack(given, 2)
--@ plain_part_leave.lua
