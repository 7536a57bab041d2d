-- SPDX-License-Identifier: MIT
-- Forgets what has ended, then grants what fits.
if soonest < now then
  local gone
  repeat
    gone = call('ZRANGEBYSCORE', ends_of, '-inf', now - 1, 'LIMIT', 0, 500)
    local waited = {}
    local records = #gone > 0 and call('HMGET', claims, unpack(gone))
    for i = 1, #gone do
      local rec = records[i]
      local state = rec and byte(rec)
      if not rec then
        torn = true
      elseif state > 4 then
        tombs = tombs - 1
      elseif state == 1 then
        waiting = waiting - 1
        waited[#waited + 1] = gone[i]
      else
        held = held - 1
        used = used - read('<I4', rec, 48)
        if state == 3 then up = false end
      end
    end
    if #gone > 0 then
      call('ZREM', ends_of, unpack(gone))
      call('HDEL', claims, unpack(gone))
    end
    if #waited > 0 then call('ZREM', line, unpack(waited)) end
  until #gone < 500
  if torn then
    torn = false
    --@ native_part_mend.lua
  end
  soonest = tonumber(call('ZRANGE', ends_of, 0, 0, 'WITHSCORES')[2]) or now
end
--@ native_part_serve.lua
