-- SPDX-License-Identifier: MIT
-- The mark, if there is one, stays for so many milliseconds. Whoever is evicted is told, if there is a way to.
local c = claim_at(0)
local mark, stays, told, news = ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local was = guarded(leave, c)
if mark ~= '' then redis.call('set', c.tomb, mark, 'px', stays, 'nx') end
if told ~= '' then publish(told, news) end
return was
