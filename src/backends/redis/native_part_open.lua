-- SPDX-License-Identifier: MIT
-- Opens the book of a name for more than one claim. The operations are put together out of parts like this one, where
-- they say --@; functions would be made anew at every call, which costs more than all else here. Expects: call, read,
-- write, byte, sub, now, book (the key), v (what it holds, or false), me (the id that is asking: its news is in the
-- answer).
--
-- A name's keys, all in one slot: ...:b the book (a string), ...:c claims (hash: id -> record), ...:l line (list: the
-- places of who waits, in order of arrival). Time is the server's, in microseconds; a claim has ended when its end is
-- strictly past. Numbers are little-endian, at fixed places:
--
--   a claim as sent     mode B, how B, tokens I4, lease I8, wait I8, weight I4, capacity I4, length I4, id c16,
--                       channel (B, bytes), origin
--   book, form i: idle  form B, token I8, kept I8
--   book, form s: solo  form B, token I8, kept I8, end I8, first token I8, since I8, the claim
--   book, form f: full  form B, token I8, kept I8, keep I8, seq I8, soonest I8, capacity I4, used I4, held I4,
--                       waiting I4, tombs I4, known B, and if that is not 0, an id c16; if 3, first token I8, since I8
--   record              state B, seq I8, end I8, first token I8, since I8, the claim; of a tomb up to the end only
--   place               id c16, mode B, tokens I4, weight I4, channel: what a hand-over needs
--
-- The book is written over in place, so that behind its end there may be the rest of what was there before.
-- States: 1 waiting, 2 held, 3 held and waiting to upgrade, 4 held and marked as evicted, 5 left for good, 6 evicted.
-- kept, keep: until when the book, and its other keys, will not expire. soonest: no claim ends before. known: 1 the one
-- that waits to upgrade, 2 the only holder, in state 2; 3 the same, but its record still says that it waits.
-- Answers: 0 gone, 1 evicted, 2 held: first token, tokens; 4 held, 6 waiting, 8 busy: first token, tokens, ahead,
-- behind, milliseconds until the first end; each + 1 if shared. -1 in use with another capacity: which; -2 failed: why;
-- -3 another one is upgrading.
local base = sub(book, 1, -2)
local claims, line = base .. 'c', base .. 'l'
local tok, kept, keep, seq, soonest, cap, used, held, waiting, tombs = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
local latest, line_new, torn, up, sole = 0, false, false, false, false
if v and byte(v) == 102 then
  local form, known
  form, tok, kept, keep, seq, soonest, cap, used, held, waiting, tombs, known = read('<BI8I8I8I8I8I4I4I4I4I4B', v)
  if known == 1 then
    up = sub(v, 63, 78)
  elseif known > 1 then
    sole = sub(v, 63, 78)
    local rec = known == 3 and call('HGET', claims, sole)
    if rec then call('HSET', claims, sole, '\2' .. sub(rec, 2, 17) .. sub(v, 79, 94) .. sub(rec, 34)) end
  end
else
  -- Until now it was idle, or had one holder; what may be left of former times is in the way.
  call('DEL', claims, line)
  soonest = 9007199254740991
  if v then tok, kept = read('<I8I8', v, 2) end
  if v and byte(v) == 115 and read('<I8', v, 18) >= now then
    local length
    used, cap, length, sole = read('<I4I4I4c16', v, 64)
    soonest, held, seq = read('<I8', v, 18), 1, 1
    latest = soonest
    call('HSET', claims, sole, write('<BI8', 2, 1) .. sub(v, 18, 41 + length))
  end
end
