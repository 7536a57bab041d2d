-- SPDX-License-Identifier: MIT
-- How my record (rec) stands, after its lease was extended; wish: of how many tokens it wants a fresh block, if several.
local state = byte(rec)
if state > 3 then
  answer = {state == 5 and 0 or 1}
else
  local extended = now + (state == 1 and wait or lease)
  if extended > tonumber(call('ZSCORE', ends_of, me)) then
    call('ZADD', ends_of, extended, me)
    if extended > latest then latest = extended end
  end
  local token, since, mode, _, tokens = read('<I8I8BBI4', rec, 10)
  if state == 1 then
    local ahead = call('ZRANK', line, me)
    torn = torn or not ahead
    answer = ahead and {6 + mode, 0, 0, ahead, 0, 0} or {0}
  else
    if wish > 1 and mode == 0 then
      token = tok + 1
      if token < now then token = now end
      tok, tokens = token + wish - 1, wish
      call('HSET', claims, me, sub(rec, 1, 9) .. write('<I8I8BBI4', token, since, mode, 0, tokens) .. sub(rec, 32))
    end
    answer = waiting == 0 and {2 + mode, token, tokens} or {4 + mode, token, tokens, 0, waiting, 0}
  end
end
