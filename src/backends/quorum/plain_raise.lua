-- SPDX-License-Identifier: MIT
-- The token of a grant that a majority has agreed to: no smaller one is made here from now on. Nobody has seen one that
-- was made here for this claim and is larger, so that is forgotten.
-- KEYS: companion. ARGV: what the register must be at least, the claim's own token, its value, keep, a token that was
-- made here for the same claim too late ("0": none; "-1": its own).
local known = redis.call('HMGET', KEYS[1], 't', 'h')
local made
if known[2] and string.sub(known[2], 1, 32) == ARGV[3] then
  local who
  made, who = string.match(known[2], '^(%d+) (.*)', 48)
  redis.call('HSET', KEYS[1], 'h', string.sub(known[2], 1, 47) .. ARGV[2] .. ' ' .. (who or ''))
end
if known[1] == ARGV[5] or (ARGV[5] == '-1' and made and known[1] == made) or tonumber(known[1] or '0') < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 't', ARGV[1])
end
if not known[1] then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1
