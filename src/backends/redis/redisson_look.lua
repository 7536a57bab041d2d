-- SPDX-License-Identifier: MIT
-- As many claims as were asked about; one whose key is not what it should be does not stop the others.
local answers = {}
for i = 0, (#ARGV - 3) / 7 - 1 do answers[i + 1] = guarded(look, claim_at(i)) end
return answers
