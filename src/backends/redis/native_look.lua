-- SPDX-License-Identifier: MIT
-- Extends the leases of claims, and answers how each stands. Never creates.
-- KEYS: of each claim the book [and its other keys]. ARGV: of each claim id c16, lease I8, wait I8, tokens I4.
-- Answers one list for all, in order; what goes wrong with one name (-2) is told for that one.
if not redis.REDIS_VERSION_NUM then redis.replicate_commands() end
local call, read, write = redis.call, struct.unpack, struct.pack
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local book, v, me
--@ native_common.lua
local out, n = {}, 0

local function look_in_full(lease, wait, wish)
  open()
  settle()
  local rec = call('HGET', claims, me)
  local answer = rec and stands(rec, lease, wait, wish) or {0}
  save()
  for i = 1, #answer do
    n = n + 1
    out[n] = answer[i]
  end
end

-- A fresh block of tokens for the only claim.
local function solo_tokens(at_least, wish)
  local first = at_least
  if first < now then first = now end
  call('SETRANGE', book, 1, write('<I8', first + wish - 1))
  call('SETRANGE', book, 25, write('<I8', first))
  call('SETRANGE', book, 59, write('<I4', wish))
  return first, wish
end

local function look(asked)
  local form = v and byte(v)
  me = sub(asked, 1, 16)
  if form == 115 then
    local _, last, until_book, till, token = read('<BI8I8I8I8', v)
    if till < now then
      call('SETRANGE', book, 0, 'i')
    elseif sub(v, 76, 91) == me then
      local lease, _, wish = read('<I8I8I4', asked, 17)
      local mode = byte(v, 42)
      local tokens = read('<I4', v, 60)
      local extended = now + lease
      if extended > till then
        local late = extended + 86400000000 > until_book
        if late then until_book = extended + 90000000000 end
        call('SETRANGE', book, 9, write('<I8I8', until_book, extended))
        if late then call('PEXPIRE', book, ceil((until_book - now) / 1000)) end
      end
      if wish > 1 and mode == 0 then token, tokens = solo_tokens(last + 1, wish) end
      out[n + 1], out[n + 2], out[n + 3] = 2 + mode, token, tokens
      n = n + 3
      return
    end
  elseif form == 102 then
    return look_in_full(read('<I8I8I4', asked, 17))
  elseif form and form ~= 105 then
    error('an unknown form', 0)
  end
  n = n + 1
  out[n] = 0
end

local stride = #KEYS / #ARGV
for i = 1, #ARGV do
  book = KEYS[(i - 1) * stride + 1]
  v = redis.pcall('GET', book)
  local good, why = false, v
  if not v or not v.err then
    good, why = pcall(look, ARGV[i])
    if not good and v and string.find(type(why) == 'table' and why.err or why, 'OOM', 1, true) then
      write_something()
      good, why = pcall(look, ARGV[i])
    end
  end
  if not good then
    out[n + 1], out[n + 2] = -2, type(why) == 'table' and why.err or why
    n = n + 2
  end
end
return out
