-- Lock tables of interlock, version 1. All of it can be run again: what is there already stays.

do $interlock$ begin
  create schema {schema};
exception when duplicate_schema or insufficient_privilege then
  null;  -- it is there already; if not, the next line says so
end $interlock$;

-- One row for each name. Whoever changes anything about a name locks its row first.
create table if not exists {schema}.{table_name}(
  name  bytea       primary key,
  cap   bigint      not null,            -- permits in all; 2^31 for locks
  token bigint      not null default 0,  -- the last one given; 0: none since the row was made
  seq   bigint      not null default 0,  -- of the last claim
  used  timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- Who holds a name and who waits for it, in order of arrival. Instants are the server's.
create table if not exists {schema}.{table_claim}(
  name      bytea       not null,
  seq       bigint      not null,
  id        uuid        not null,          -- known to the claimant alone: whoever has it can release the lock
  state     "char"      not null,          -- w waiting, h held, d dead: keeps a late request from taking effect
  shared    boolean     not null,
  evicted   boolean     not null default false,
  upgrading boolean     not null default false,  -- a reader that waits to be the writer
  weight    bigint      not null,
  token     bigint      not null default 0,      -- held: the first of its own
  tokens    integer     not null default 1,      -- how many of them
  ends      timestamptz not null,
  since     timestamptz not null,                -- granted, or queued
  channel   text        not null default '',     -- where it listens
  origin    bytea       not null default '',     -- pid, host, program, purpose, a line each
  primary key (name, seq)
) with (fillfactor = 50);

create table if not exists {schema}.{table_meta}(
  one         boolean primary key default true check (one),
  version     integer not null,
  token_floor bigint  not null  -- above every token of a name that was forgotten
);
insert into {schema}.{table_meta}(version, token_floor) values(1, 0) on conflict do nothing;

-- Serves the queue of a name, whose row is locked: first a reader that waits to be the writer, then the longest part of
-- the queue that fits. Wakes those who were granted, and nobody else; not the asker, who is told in its answer. A grant
-- does not move the end of a lease. Answers the last token given.
create or replace function {schema}.{table_settle}(key bytea, at timestamptz, asker uuid, cap bigint, last bigint)
returns bigint language plpgsql as $interlock$
#variable_conflict use_variable
declare
  one     record;
  taken   bigint;
  waiting bigint;
  first   bigint;
begin
  select coalesce(sum(c.weight) filter (where c.state = 'h'), 0)::bigint, count(*) filter (where c.state = 'w')
    into taken, waiting from {schema}.{table_claim} c where c.name = key;
  for one in select c.seq, c.id, c.weight, c.channel from {schema}.{table_claim} c
             where c.name = key and c.upgrading order by c.seq loop
    if taken > one.weight then return last; end if;  -- others still read: nobody joins them
    taken := cap;
    last := last + 1;
    update {schema}.{table_claim} c set upgrading = false, shared = false, weight = cap, token = last, tokens = 1
      where c.name = key and c.seq = one.seq;
    if one.channel <> '' and one.id <> asker then
      perform pg_notify(one.channel, format('g %s %s 1 0 %s %s', one.id, last, waiting, one.seq));
    end if;
  end loop;
  if waiting = 0 then return last; end if;
  for one in select c.seq, c.id, c.weight, c.shared, c.tokens, c.channel from {schema}.{table_claim} c
             where c.name = key and c.state = 'w' order by c.seq loop
    exit when taken + one.weight > cap;
    taken := taken + one.weight;
    waiting := waiting - 1;
    if one.shared then
      last := greatest(last, 1);
      first := last;
      one.tokens := 1;
    else
      first := last + 1;
      last := last + one.tokens;
    end if;
    update {schema}.{table_claim} c set state = 'h', token = first, tokens = one.tokens, since = at
      where c.name = key and c.seq = one.seq;
    if one.channel <> '' and one.id <> asker then
      perform pg_notify(one.channel, format('g %s %s %s %s %s %s', one.id, first, one.tokens, one.shared::integer,
                                            waiting, one.seq));
    end if;
  end loop;
  return last;
end $interlock$;

-- Questions about claims, carried out in this order in one transaction; whoever sends several sorts them by name, so
-- that no two wait for each other. One call is one message: a caller that is cut off half-way has asked nothing.
--
--   op      1 enter, 2 look, 3 leave, 4 convert, 5 evict
--   flags   1 shared, 2 may queue, 4 finally (leave), 8 by force (evict)
--   id      of an eviction: the public one
--   answer  0 gone, 1 gone: evicted, 2 held, 3 waiting, 4 busy, 5 in use with another capacity (again: which),
--           6 deadlock, 7 released, 8 left, 9 yes, 10 no
create or replace function {schema}.{table_ask}(
  ops smallint[], names bytea[], ids uuid[], flags integer[], weights bigint[], caps bigint[], leases bigint[],
  waits bigint[], wanted integer[], origins bytea[], listens text)
returns table(answer integer, is_shared boolean, token bigint, tokens bigint, ahead bigint, behind bigint, again bigint,
              seq bigint)
language plpgsql as $interlock$
#variable_conflict use_variable
declare
  key bytea; held_key bytea; me uuid; op smallint; flag integer; cap bigint; weight bigint;
  now timestamptz; until timestamptz; first_end timestamptz;
  has_cap bigint; has_token bigint; old_token bigint; last_seq bigint; changed boolean; settled boolean;
  live bigint; waiting bigint; taken bigint; upgrade boolean; mine_seq bigint;
  mine {schema}.{table_claim}%rowtype; blocked boolean;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'interlock needs read committed, this is %', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state';
  end if;
  for i in 1 .. cardinality(ops) loop
    key := names[i]; me := ids[i]; op := ops[i]; flag := flags[i]; cap := caps[i]; weight := weights[i];
    answer := 0; is_shared := false; token := 0; tokens := 0; ahead := 0; behind := 0; again := 0; seq := 0;

    -- Lock the name; then, and only then, read the clock.
    if key is distinct from held_key then
      loop
        select n.cap, n.token, n.seq into has_cap, has_token, last_seq
          from {schema}.{table_name} n where n.name = key for no key update;
        exit when found;
        exit when op <> 1 and (op <> 3 or flag & 4 = 0);
        insert into {schema}.{table_name}(name, cap) values(key, cap) on conflict do nothing;
      end loop;
      if not found then  -- nobody has ever asked for it
        if op = 5 then answer := 10; end if;
        return next;
        continue;
      end if;
      held_key := key;
      if has_token = 0 then
        select m.token_floor into has_token from {schema}.{table_meta} m;
      end if;
    end if;
    now := clock_timestamp();
    old_token := has_token; changed := false; settled := false;

    loop
      select count(*) filter (where c.state <> 'd'), count(*) filter (where c.state = 'w'),
             coalesce(sum(c.weight) filter (where c.state = 'h'), 0)::bigint, coalesce(bool_or(c.upgrading), false),
             min(c.ends), max(c.seq) filter (where c.id = me)
        into live, waiting, taken, upgrade, first_end, mine_seq
        from {schema}.{table_claim} c where c.name = key;
      if first_end < now then  -- strictly past: else two holders share an instant
        delete from {schema}.{table_claim} c where c.name = key and c.ends < now;
      elsif not settled and ((waiting > 0 and taken < has_cap) or upgrade) then
        has_token := {schema}.{table_settle}(key, now, me, has_cap, has_token);
        settled := true;
      else
        exit;
      end if;
    end loop;
    if mine_seq is not null then
      select c.* into mine
        from {schema}.{table_claim} c where c.name = key and c.seq = mine_seq;
    end if;

    if op = 1 and mine_seq is null then  -- enter
      blocked := waiting > 0 or upgrade or taken + weight > has_cap;
      if has_cap <> cap and live > 0 then
        answer := 5;
        again := has_cap;
      elsif has_cap = cap and blocked and flag & 2 = 0 then
        answer := 4;
        select ceil(1000 * extract(epoch from min(c.ends) - now)) into again
          from {schema}.{table_claim} c where c.name = key and c.state <> 'd';
      else
        if has_cap <> cap then
          has_cap := cap;
          blocked := weight > cap;
        end if;
        last_seq := last_seq + 1;
        changed := true;
        seq := last_seq;
        is_shared := flag & 1 <> 0;
        if not blocked then
          answer := 2;
          if is_shared then
            has_token := greatest(has_token, 1);
            token := has_token;
            tokens := 1;
          else
            token := has_token + 1;
            tokens := wanted[i];
            has_token := has_token + tokens;
          end if;
        else
          answer := 3;
        end if;
        insert into {schema}.{table_claim}(name, seq, id, state, shared, weight, token, tokens, ends, since, channel,
                                           origin)
          values(key, last_seq, me, case when blocked then 'w' else 'h' end, is_shared, weight, token,
                 case when blocked then wanted[i] else tokens end,
                 now + (case when blocked then waits[i] else leases[i] end) * interval '1 millisecond', now, listens,
                 origins[i]);
        if blocked then
          select count(*) filter (where c.state = 'w'), ceil(1000 * extract(epoch from min(c.ends) - now))
            into ahead, again from {schema}.{table_claim} c
            where c.name = key and c.state <> 'd' and (c.state = 'h' or c.seq < last_seq);
        end if;
      end if;

    elsif op = 1 or op = 2 then  -- enter again, or look
      if mine_seq is null then
        null;
      elsif mine.state = 'd' or mine.evicted then
        answer := mine.evicted::integer;
        seq := mine.seq;
      else
        until := now + (case when mine.state = 'h' then leases[i] else waits[i] end) * interval '1 millisecond';
        if op = 2 and mine.state = 'h' and not mine.shared and wanted[i] > 1 then
          mine.token := has_token + 1;
          mine.tokens := wanted[i];
          has_token := has_token + wanted[i];
          update {schema}.{table_claim} c set ends = greatest(c.ends, until), token = mine.token, tokens = mine.tokens
            where c.name = key and c.seq = mine.seq;
        elsif until > mine.ends then
          update {schema}.{table_claim} c set ends = until where c.name = key and c.seq = mine.seq;
        end if;
        seq := mine.seq;
        is_shared := mine.shared;
        if mine.state = 'h' then
          answer := 2;
          token := mine.token;
          tokens := mine.tokens;
          behind := waiting;
        else
          answer := 3;
          select count(*) filter (where c.state = 'w'), ceil(1000 * extract(epoch from min(c.ends) - now))
            into ahead, again from {schema}.{table_claim} c
            where c.name = key and c.state <> 'd' and (c.state = 'h' or c.seq < mine.seq);
        end if;
      end if;

    elsif op = 3 then  -- leave
      if mine_seq is not null and mine.state <> 'd' then
        answer := case when mine.state = 'h' then 7 else 8 end;
        delete from {schema}.{table_claim} c where c.name = key and c.seq = mine.seq;
      end if;
      if flag & 4 <> 0 and (mine_seq is null or mine.state <> 'd') then
        last_seq := last_seq + 1;
        changed := true;
        insert into {schema}.{table_claim}(name, seq, id, state, shared, weight, ends, since)
          values(key, last_seq, me, 'd', false, 0, now + greatest(leases[i], 60000) * interval '1 millisecond', now);
      end if;
      if answer <> 0 and (waiting > 0 or upgrade) then
        has_token := {schema}.{table_settle}(key, now, me, has_cap, has_token);
      end if;

    elsif op = 4 then  -- convert
      if mine_seq is null then
        null;
      elsif mine.state <> 'h' or mine.evicted then
        answer := mine.evicted::integer;
        seq := mine.seq;
      else
        seq := mine.seq;
        answer := 2;
        if weight <= mine.weight then
          update {schema}.{table_claim} c set upgrading = false, shared = flag & 1 <> 0, weight = weights[i]
            where c.name = key and c.seq = mine.seq;
          mine.shared := flag & 1 <> 0;
          if waiting > 0 or upgrade then
            has_token := {schema}.{table_settle}(key, now, me, has_cap, has_token);
            select count(*) into waiting from {schema}.{table_claim} c where c.name = key and c.state = 'w';
          end if;
        elsif upgrade and not mine.upgrading then
          answer := 6;
        elsif taken - mine.weight + weight > has_cap then
          answer := case when flag & 2 <> 0 then 3 else 4 end;
          if answer = 3 and not mine.upgrading then
            update {schema}.{table_claim} c set upgrading = true where c.name = key and c.seq = mine.seq;
          end if;
          select ceil(1000 * extract(epoch from min(c.ends) - now)) into again
            from {schema}.{table_claim} c where c.name = key and c.state = 'h';
        else
          mine.shared := flag & 1 <> 0;
          if not mine.shared then
            has_token := has_token + 1;
            mine.token := has_token;
            mine.tokens := 1;
          end if;
          update {schema}.{table_claim} c set upgrading = false, shared = mine.shared, weight = weights[i],
              token = mine.token, tokens = mine.tokens where c.name = key and c.seq = mine.seq;
        end if;
        is_shared := mine.shared;
        token := mine.token;
        tokens := mine.tokens;
        behind := waiting;
      end if;

    else  -- evict
      select c.* into mine from {schema}.{table_claim} c
        where c.name = key and c.state <> 'd' and not c.evicted
          and substring(sha256(uuid_send(c.id)) for 16) = uuid_send(me);
      answer := 10;
      if found then
        answer := 9;
        update {schema}.{table_claim} c set evicted = true, upgrading = false,
            state = case when c.state = 'w' or flag & 8 <> 0 then 'd' else c.state end
          where c.name = key and c.seq = mine.seq;
        if mine.channel <> '' then perform pg_notify(mine.channel, 'e ' || mine.id); end if;
        has_token := {schema}.{table_settle}(key, now, me, has_cap, has_token);
      end if;
    end if;

    if changed or has_token <> old_token then
      update {schema}.{table_name} n set cap = has_cap, token = has_token, seq = last_seq, used = now
        where n.name = key;
    end if;
    again := greatest(coalesce(again, 0), case when answer in (3, 4) and again is not null then 1 else 0 end);
    return next;
  end loop;
end $interlock$;

-- Forgets claims that ended a minute ago, and names that nobody has used for a day; their tokens stay used. Answers
-- whether there is more to forget.
create or replace function {schema}.{table_tidy}() returns boolean language plpgsql as $interlock$
declare
  now   timestamptz := clock_timestamp();
  ended integer;
  idle  integer;
  most  bigint;
begin
  delete from {schema}.{table_claim} c using (
    select d.name, d.seq from {schema}.{table_claim} d where d.ends < now - interval '1 minute'
      order by d.name, d.seq limit 256 for update skip locked) old
    where c.name = old.name and c.seq = old.seq;
  get diagnostics ended = row_count;
  with old as (
    delete from {schema}.{table_name} n using (
      select o.name from {schema}.{table_name} o where o.used < now - interval '1 day'
          and not exists (select from {schema}.{table_claim} c where c.name = o.name)
        order by o.name limit 256 for update skip locked) gone
      where n.name = gone.name returning n.token)
    select count(*), max(old.token) into idle, most from old;
  if idle > 0 then
    update {schema}.{table_meta} m set token_floor = greatest(m.token_floor, most);
  end if;
  return ended = 256 or idle = 256;
end $interlock$;
