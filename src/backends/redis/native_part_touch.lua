-- SPDX-License-Identifier: MIT
-- Out of memory, a script's first write must be one that needs none; those behind it may.
call('PEXPIRE', book, math.max(3600000, math.ceil((read('<I8', v, 10) - now) / 1000)))
