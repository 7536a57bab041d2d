-- SPDX-License-Identifier: MIT
-- Grants what fits: the upgrading reader first, then the queue in order of arrival. No end is moved. More than 1024 at
-- once would keep everybody else from the server too long; the next operation goes on.
for _ = 1, (up or (waiting > 0 and used < cap)) and 1024 or 0 do
  local id, rec, mode, tokens, token
  if up then
    id = up
    rec = call('HGET', claims, id)
    -- While its readers still read, nobody joins them.
    if not rec or used > read('<I4', rec, 56) then
      torn = torn or not rec
      break
    end
    mode, tokens, used, up = 0, 1, cap, false
  elseif waiting > 0 and used < cap then
    local place = call('LINDEX', line, '0')
    id = place and sub(place, 1, 16)
    rec = id and call('HGET', claims, id)
    local weight = cap + 1
    if rec and byte(rec) == 1 then
      mode, _, tokens, _, _, weight = read('<BBI4I8I8I4', rec, 34)
    else
      torn = true
    end
    if used + weight > cap then
      torn = torn or used == 0
      break
    end
    call('LPOP', line)
    waiting, held, used = waiting - 1, held + 1, used + weight
  else
    break
  end
  token = tok
  if mode == 0 then
    token = tok + 1
    if token < now then token = now end
    tok = token + tokens - 1
  elseif tok == 0 then
    token, tok = now, now
  end
  if byte(rec) == 1 then
    call('HSET', claims, id, '\2' .. sub(rec, 2, 17) .. write('<I8I8', token, now) .. sub(rec, 34))
  else
    call('HSET', claims, id, '\2' .. sub(rec, 2, 17) .. write('<I8', token) .. sub(rec, 26, 33) .. '\0'
      .. sub(rec, 35, 35) .. write('<I4', 1) .. sub(rec, 40, 55) .. write('<I4', cap) .. sub(rec, 60))
  end
  sole = held == 1 and id
  -- Protected: a channel that this user may not write to must not keep anybody from letting go.
  local channel = byte(rec, 84)
  if id ~= me and channel > 0 then
    redis.pcall('PUBLISH', sub(rec, 85, 84 + channel), write('<c1Bc16I8I4I4', 'g', mode, id, token, tokens, waiting))
  end
end
