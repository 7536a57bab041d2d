-- SPDX-License-Identifier: MIT
-- What stands in the line for somebody with this record (rec): no more than a hand-over needs.
local place = sub(rec, 68, 83) .. sub(rec, 34, 34) .. sub(rec, 36, 39) .. sub(rec, 56, 59)
  .. sub(rec, 85, 84 + byte(rec, 84))
