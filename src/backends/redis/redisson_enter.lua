-- SPDX-License-Identifier: MIT
local c = claim_at(0)
c.who = ARGV[11]
return guarded(enter, c, ARGV[12] == 'queue')
