-- SPDX-License-Identifier: MIT
-- From reading to writing or back, without letting go.
local DEADLOCK = 5

local function convert(c, to, queue)
  local mark = redis.call('get', c.tomb)
  local mine = own(c)
  if mark or not mine then return gone(mark) end
  if mine == to then
    if redis.call('hget', c.book, 'up') == c.owner then
      redis.call('hdel', c.book, 'up')
      publish(channel_of(c), '1')  -- readers kept out by the upgrade that is not to be
    end
    return held(c, mine, false)
  end
  if to == 's' then
    read_instead(c)
    return held(c, 's', false)
  end
  local other = upgrader(c)
  if other and other ~= c.owner then return {DEADLOCK, 's', 0, 0, 0, 0, 0} end
  if write_instead(c) then return held(c, 'x', false) end
  if not queue then return {BUSY, 's', 0, 0, 0, 0, 0} end
  redis.call('hset', c.book, 'up', c.owner)
  return {WAITING, 's', 0, 0, 0, 0, math.min(readers_left(c, c.owner), 250)}
end

return guarded(convert, claim_at(0), ARGV[11], ARGV[12] == 'queue')
