-- SPDX-License-Identifier: MIT
-- What the operations share once a name has more than one claim to it. Stands in each of them where it says --@, behind
-- the short cuts, so that a lone claim does not pay for it. Expects: call, read, write, now, book (the key), v (what it
-- holds, or false), me (the id that is asking: its news is in the answer).
--
-- A name's keys, all in one slot: ...:b the book (a string), ...:c claims (hash: id -> record), ...:l line (sorted set:
-- waiting id -> arrival), ...:e ends (sorted set: id -> end of its lease). Time is the server's, in microseconds; a
-- claim has ended when its end is strictly past. Numbers are little-endian, at fixed places:
--
--   a claim as sent     mode B, how B, lease I8, wait I8, tokens I4, weight I4, capacity I4, length I4, id c16,
--                       handle c16, channel (B, bytes), origin
--   book, form i: idle  form B, token I8, kept I8
--   book, form s: solo  form B, token I8, kept I8, end I8, first token I8, since I8, the claim
--   book, form f: full  form B, token I8, kept I8, keep I8, seq I8, capacity I4, used I4, held I4, waiting I4, tombs I4,
--                       upgrading B, its id c16
--   record              state B, seq I8, first token I8, since I8, the claim; of a tomb the state only
--
-- The book is written over in place, so that behind its end there may be the rest of what was there before.
-- States: 1 waiting, 2 held, 3 held and waiting to upgrade, 4 held and marked as evicted, 5 left for good, 6 evicted.
-- kept, keep: until when the book, and its other keys, will not expire.
-- Answers: 0 gone, 1 evicted, 2 held: first token, tokens; 4 held, 6 waiting, 8 busy: first token, tokens, ahead,
-- behind, milliseconds until the first end; each + 1 if shared. -1 in use with another capacity: which; -2 not ours: what
-- was wrong; -3 another one is upgrading.
local byte, sub, spread, ceil = string.byte, string.sub, unpack, math.ceil
local claims, line, ends_of
local tok, kept, keep, seq, cap, used, held, waiting, tombs, up
local some_left, book_late, keys_late, line_late

-- An end was moved, and the keys must outlive it.
local function lasts(id, till)
  call('ZADD', ends_of, till, id)
  if till + 86400000000 > kept then
    kept, book_late = till + 90000000000, true
  end
  if till + 60000000 > keep then
    keep, keys_late = till + 3600000000, true
  end
end

-- Parts were removed by hand, or evicted by the server: what is whole counts, the rest goes.
local function mend()
  local till, place = {}, {}
  for _, id in ipairs(call('ZRANGE', ends_of, 0, -1)) do till[id] = true end
  for _, id in ipairs(call('ZRANGE', line, 0, -1)) do place[id] = true end
  local all = call('HGETALL', claims)
  used, held, waiting, tombs, up = 0, 0, 0, 0, false
  for i = 1, #all, 2 do
    local id, rec = all[i], all[i + 1]
    local state = byte(rec)
    if not till[id] or (state == 1 and not place[id]) then
      call('HDEL', claims, id)
    else
      till[id] = nil
      if state == 1 then
        place[id] = nil
        waiting = waiting + 1
      elseif state > 4 then
        tombs = tombs + 1
      else
        held = held + 1
        used = used + read('<I4', rec, 48)
        if state == 3 then up = id end
      end
    end
  end
  for id in pairs(till) do call('ZREM', ends_of, id) end
  for id in pairs(place) do call('ZREM', line, id) end
end

-- The full form of whatever form the book has.
local function open()
  local base = sub(book, 1, -2)
  claims, line, ends_of = base .. 'c', base .. 'l', base .. 'e'
  some_left, book_late, keys_late, line_late = false, false, false, false
  local form = v and byte(v)
  if form == 102 then
    local upgrading
    form, tok, kept, keep, seq, cap, used, held, waiting, tombs, upgrading, up =
      read('<BI8I8I8I8I4I4I4I4I4Bc16', v)
    if upgrading == 0 then up = false end
    if call('ZCARD', ends_of) ~= held + waiting + tombs or call('ZCARD', line) ~= waiting then mend() end
    return
  end
  call('DEL', claims, line, ends_of)
  tok, kept, keep, seq, cap, used, held, waiting, tombs, up = 0, 0, 0, 0, 0, 0, 0, 0, 0, false
  if not form then return end
  tok, kept = read('<I8I8', v, 2)
  if form ~= 115 then return end
  local till, length, id = read('<I8', v, 18), nil, nil
  if till < now then return end
  used, cap, length, id = read('<I4I4I4c16', v, 64)
  held, seq = 1, 1
  call('HSET', claims, id, write('<BI8', 2, 1) .. sub(v, 26, 41 + length))
  lasts(id, till)
end

-- Out of memory, a script's first write must be one that needs none; those behind it may.
local function write_something()
  call('PEXPIRE', book, math.max(3600000, ceil((read('<I8', v, 10) - now) / 1000)))
end

-- Writes back what open() read, folded up if nobody is left.
local function save()
  local head
  if held + waiting + tombs > 0 then
    head = write('<BI8I8I8I8I4I4I4I4I4Bc16', 102, tok, kept, keep, seq, cap, used, held, waiting, tombs, up and 1 or 0,
      up or '0123456789abcdef')
    if keys_late then
      local left = ceil((keep - now) / 1000)
      call('PEXPIRE', claims, left)
      call('PEXPIRE', ends_of, left)
      call('PEXPIRE', line, left)
    elseif line_late then
      call('PEXPIRE', line, ceil((keep - now) / 1000))
    end
  else
    call('DEL', claims, line, ends_of)
    head = write('<BI8I8', 105, tok, kept)
  end
  if not v then
    call('SET', book, head, 'PX', ceil((kept - now) / 1000))
    return
  end
  if sub(v, 1, #head) ~= head then call('SETRANGE', book, 0, head) end
  if book_late then call('PEXPIRE', book, ceil((kept - now) / 1000)) end
end

local function next_token(mode, tokens)
  if mode == 1 then
    if tok == 0 then tok = now end
    return tok
  end
  local first = tok + 1
  if first < now then first = now end
  tok = first + tokens - 1
  return first
end

local function put(id, rec, state, token, since, mode, tokens, weight)
  call('HSET', claims, id, write('<B', state) .. sub(rec, 2, 9) .. write('<I8I8B', token, since, mode)
    .. sub(rec, 27, 43) .. write('<I4I4', tokens, weight) .. sub(rec, 52))
end

-- Protected: a channel this user may not write to must not keep anybody from letting go.
local function tell(id, rec, what)
  local length = byte(rec, 92)
  if id ~= me and length > 0 then redis.pcall('PUBLISH', sub(rec, 93, 92 + length), what) end
end

local function granted(id, rec, mode, token, tokens)
  tell(id, rec, write('<c1Bc16I8I4I4', 'g', mode, id, token, tokens, waiting))
end

-- Takes a live claim's record out of the counts.
local function uncount(rec, state)
  if state == 1 then
    waiting = waiting - 1
    return
  end
  held = held - 1
  used = used - read('<I4', rec, 48)
  if state == 3 then up = false end
end

local function drop_expired()
  local gone = call('ZRANGEBYSCORE', ends_of, '-inf', now - 1, 'LIMIT', 0, 64)
  local count = #gone
  if count == 0 then return end
  some_left = count == 64
  local records, waited, torn = call('HMGET', claims, spread(gone)), {}, false
  for i = 1, count do
    local rec = records[i]
    local state = rec and byte(rec)
    if not rec then
      torn = true
    elseif state > 4 then
      tombs = tombs - 1
    else
      if state == 1 then waited[#waited + 1] = gone[i] end
      uncount(rec, state)
    end
  end
  call('ZREM', ends_of, spread(gone))
  call('HDEL', claims, spread(gone))
  if #waited > 0 then call('ZREM', line, spread(waited)) end
  if torn then mend() end
end

-- Grants what fits: the upgrading reader first, then the queue in order of arrival.
local function serve()
  if up then
    local id = up
    local rec = call('HGET', claims, id)
    if not rec then return mend() end
    local weight = read('<I4', rec, 48)
    -- Its readers still read: nobody joins them.
    if used > weight then return end
    used, up = cap, false
    local token = next_token(0, 1)
    put(id, rec, 2, token, read('<I8', rec, 18), 0, 1, cap)
    granted(id, rec, 0, token, 1)
  end
  local most = 64
  while waiting > 0 and used < cap and most > 0 do
    most = most - 1
    local id = call('ZRANGE', line, 0, 0)[1]
    local rec = call('HGET', claims, id)
    if not rec then return mend() end
    if some_left and tonumber(call('ZSCORE', ends_of, id)) < now then
      call('HDEL', claims, id)
      call('ZREM', ends_of, id)
      call('ZREM', line, id)
      waiting = waiting - 1
    else
      local mode = byte(rec, 26)
      local tokens, weight = read('<I4I4', rec, 44)
      if used + weight > cap then return end
      call('ZREM', line, id)
      waiting, held, used = waiting - 1, held + 1, used + weight
      local token = next_token(mode, tokens)
      put(id, rec, 2, token, now, mode, tokens, weight)
      granted(id, rec, mode, token, tokens)
    end
  end
end

local function settle()
  drop_expired()
  serve()
end

-- Milliseconds until the first end other than that of `except`. Not later than the first one in the way.
local function first_end(except)
  local first = call('ZRANGE', ends_of, 0, 1, 'WITHSCORES')
  local till = first[1] == except and first[4] or first[2]
  return till and math.max(1, ceil((till - now) / 1000)) or 0
end

local function answer_held(mode, token, tokens)
  if waiting == 0 then return {2 + mode, token, tokens} end
  return {4 + mode, token, tokens, 0, waiting, 0}
end

-- How my record stands, after its lease was extended; `wish` is how many tokens it wants if more than one.
local function stands(rec, lease, wait, wish)
  local state = byte(rec)
  if state > 3 then return {state == 5 and 0 or 1} end
  local till = tonumber(call('ZSCORE', ends_of, me))
  -- There were more expired than were removed.
  if till < now then return {0} end
  local until_then = now + (state == 1 and wait or lease)
  if until_then > till then lasts(me, until_then) end
  local token, since, mode = read('<I8I8B', rec, 10)
  if state == 1 then return {6 + mode, 0, 0, call('ZRANK', line, me), 0, first_end(me)} end
  local tokens, weight = read('<I4I4', rec, 44)
  if wish > 1 and mode == 0 then
    token, tokens = next_token(0, wish), wish
    put(me, rec, state, token, since, mode, tokens, weight)
  end
  return answer_held(mode, token, tokens)
end
