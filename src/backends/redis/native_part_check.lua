-- SPDX-License-Identifier: MIT
-- Is all of it still there? The keys beside the book may have been removed by hand, or evicted.
if v and byte(v) == 102 and call('HLEN', claims) ~= held + waiting + tombs then
  --@ native_part_mend.lua
end
