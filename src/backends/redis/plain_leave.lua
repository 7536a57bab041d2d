-- SPDX-License-Identifier: MIT
-- Releases, or stops waiting. Deletes the lock only if it holds exactly this claim's value.
-- KEYS: lock, companion, and the list that python-redis-lock's waiters block on, if there is one.
-- ARGV: value, milliseconds of a tombstone ("0": none), keep, fields of a companion that nobody waits in, PUBLISH or
-- SPUBLISH, channel. The value alone: no tombstone, no fields, PUBLISH, and the channel whose name goes with the
-- companion's.
-- Answers: 1 released | 2 left the queue | 0 gone
local value, tomb, keep, fields_kept = ARGV[1], ARGV[2] or '0', ARGV[3], ARGV[4] or '0'
local publish, channel = ARGV[5] or 'PUBLISH', ARGV[6]
local lock, companion, signal = KEYS[1], KEYS[2], KEYS[3]
--@ plain_part_leave.lua
