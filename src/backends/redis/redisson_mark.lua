-- SPDX-License-Identifier: MIT
-- Evicts gently: the holder's next look says so and renews nothing; until its lease is over nobody else gets in.
local c = claim_at(0)
local stays, told, news = ARGV[11], ARGV[12], ARGV[13]
return guarded(function()
  if not own(c) then return 0 end
  redis.call('set', c.tomb, 'e', 'px', stays)
  if told ~= '' then publish(told, news) end
  return 1
end)
