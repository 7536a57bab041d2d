-- SPDX-License-Identifier: MIT
-- Releases, or stops waiting. Deletes the lock only if it holds exactly this claim's value.
-- KEYS: lock, companion, and the list that python-redis-lock's waiters block on, if there is one.
-- ARGV: value, milliseconds of a tombstone ("0": none), keep, fields of a companion that nobody waits in, PUBLISH or
-- SPUBLISH, channel. The value alone: no tombstone, no fields, PUBLISH, and the channel whose name goes with the
-- companion's.
-- Answers: 1 released | 2 left the queue | 0 gone
local call, try, keys, given = redis.call, redis.pcall, KEYS, ARGV
local lock, companion, signal, value = keys[1], keys[2], keys[3], given[1]
local tomb, keep, fields_kept, publish, channel = '0', '0', '0', 'PUBLISH', nil
if given[2] then tomb, keep, fields_kept, publish, channel = unpack(given, 2) end
--@ plain_part_leave.lua
