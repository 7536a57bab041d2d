-- SPDX-License-Identifier: MIT
-- A lock was released: forgets its holder and tells who waits. Expects companion, value, fields_kept, publish, channel
-- and try. Protected: whatever the companion has become, the lock is free.
try('HDEL', companion, 'h', value)
local fields = try('HLEN', companion)
if type(fields) == 'number' and fields > tonumber(fields_kept) then
  try(publish, channel or string.sub(companion, 1, -2) .. 'n', 'free')
end
