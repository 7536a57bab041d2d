-- Lock tables of interlock, version 1. All of it can be run again: what is there already stays.
delimiter $$

-- A procedure keeps the mode that it was made in.
set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'
$$

create database if not exists {schema}
$$

-- One row for each name. Whoever changes anything about a name locks its row first. Instants are the server's, in
-- microseconds since 1970.
create table if not exists {schema}.{table_name}(
  name  varbinary(1024) not null primary key,
  cap   bigint          not null,            -- permits in all; 2^31 for locks
  token bigint          not null default 0,  -- the last one given; 0: none since the row was made
  seq   bigint          not null default 0,  -- of the last claim
  used  bigint          not null
) engine = InnoDB
$$

-- Who holds a name and who waits for it, in order of arrival.
create table if not exists {schema}.{table_claim}(
  name      varbinary(1024) not null,
  seq       bigint          not null,
  id        binary(16)      not null,            -- known to the claimant alone: whoever has it can release the lock
  state     char(1) character set ascii collate ascii_bin not null,  -- w waiting, h held, d dead: keeps a late request
                                                                     -- from taking effect
  shared    boolean         not null,
  evicted   boolean         not null default false,
  upgrading boolean         not null default false,  -- a reader that waits to be the writer
  weight    bigint          not null,
  token     bigint          not null default 0,      -- held: the first of its own
  tokens    bigint          not null default 1,      -- how many of them
  ends      bigint          not null,
  since     bigint          not null,                -- granted, or queued
  origin    blob            not null,                -- pid, host, program, purpose, a line each
  primary key (name, seq)
) engine = InnoDB
$$

-- Serves the queue of a name, whose row is locked: first a reader that waits to be the writer, then the longest part of
-- the queue that fits. A grant does not move the end of a lease. last_: the last token given.
create procedure if not exists {schema}.{table_settle}(
  in name_ varbinary(1024), in now_ bigint, in cap_ bigint, inout last_ bigint)
  modifies sql data sql security invoker
begin
  declare taken_, waiting_, seq_, weight_, first_, tokens_ bigint;
  declare shared_ boolean;
  select coalesce(sum(if(c.state = 'h', c.weight, 0)), 0), coalesce(sum(c.state = 'w'), 0),
         min(if(c.upgrading, c.seq, null)), max(if(c.upgrading, c.weight, 0))
    into taken_, waiting_, seq_, weight_ from {schema}.{table_claim} c where c.name = name_;
  if seq_ is not null and taken_ > weight_ then
    set waiting_ = 0;  -- others still read: nobody joins them
  elseif seq_ is not null then
    set taken_ = cap_, last_ = last_ + 1;
    update {schema}.{table_claim} c set c.upgrading = false, c.shared = false, c.weight = cap_, c.token = last_,
        c.tokens = 1 where c.name = name_ and c.seq = seq_;
  end if;
  while waiting_ > 0 do
    select c.seq, c.weight, c.shared, c.tokens into seq_, weight_, shared_, tokens_
      from {schema}.{table_claim} c where c.name = name_ and c.state = 'w' order by c.seq limit 1;
    if taken_ + weight_ > cap_ then
      set waiting_ = 0;
    else
      set taken_ = taken_ + weight_, waiting_ = waiting_ - 1;
      if shared_ then
        set last_ = greatest(last_, 1), first_ = last_, tokens_ = 1;
      else
        set first_ = last_ + 1, last_ = last_ + tokens_;
      end if;
      update {schema}.{table_claim} c set c.state = 'h', c.token = first_, c.tokens = tokens_, c.since = now_
        where c.name = name_ and c.seq = seq_;
    end if;
  end while;
end
$$

-- A question about a claim, and those in more_, carried out in this order in one transaction; whoever sends several
-- sorts them by name, so that no two wait for each other. One call is one message: a caller that is cut off half-way
-- has asked nothing. Answers one text: for each question eight numbers and a semicolon.
--
--   op_     1 enter, 2 look, 3 leave, 4 convert, 5 evict
--   flags_  1 shared, 2 may queue, 4 finally (leave), 8 by force (evict)
--   id_     of an eviction: the public one
--   more_   for each: op 1 digit, flags 2, weight 10, cap 10, lease 12, wait 12, wanted 10, length of name 4, length of
--           origin 5, id 16 bytes, name, origin
--   answer  0 gone, 1 gone: evicted, 2 held, 3 waiting, 4 busy, 5 in use with another capacity (again: which),
--           6 deadlock, 7 released, 8 left, 9 yes, 10 no; then shared, token, tokens, ahead, behind, again, seq
create procedure if not exists {schema}.{table_ask}(
  in op_ tinyint, in flags_ int, in weight_ bigint, in cap_ bigint, in lease_ bigint, in wait_ bigint,
  in wanted_ bigint, in id_ binary(16), in name_ varbinary(1024), in origin_ blob, in more_ longblob)
  modifies sql data sql security invoker
begin
  declare answers_ longblob default '';
  declare at_, size_, length_ bigint default 1;
  declare locked_ varbinary(1024);
  declare now_, until_, first_end_, has_cap_, has_token_, old_token_, last_seq_ bigint;
  declare live_, waiting_, taken_, upgrading_ bigint;
  declare answer_, token_, tokens_, ahead_, behind_, again_, seq_ bigint;
  declare is_shared_, changed_, settled_, ready_, blocked_ boolean;
  declare mine_ bigint;
  declare mine_state_ char(1) character set ascii collate ascii_bin;
  declare mine_shared_, mine_evicted_, mine_upgrading_ boolean;
  declare mine_weight_, mine_token_, mine_tokens_, mine_ends_ bigint;
  declare exit handler for sqlexception begin
    rollback;
    resignal;
  end;

  if @@global.read_only then  -- a user with all rights could write all the same, on what is no primary any more
    signal sqlstate 'HY000' set mysql_errno = 1290, message_text = 'the server is read-only';
  end if;
  set size_ = length(more_);
  set transaction isolation level read committed;
  start transaction;
  each_: loop
    set answer_ = 0, is_shared_ = false, token_ = 0, tokens_ = 0, ahead_ = 0, behind_ = 0, again_ = 0, seq_ = 0;

    -- Lock the name; then, and only then, read the clock.
    if locked_ is null or locked_ <> name_ then
      set has_cap_ = null, locked_ = null;
      select n.cap, n.token, n.seq into has_cap_, has_token_, last_seq_
        from {schema}.{table_name} n where n.name = name_ for update;
      if has_cap_ is null and (op_ = 1 or op_ = 3 and flags_ & 4) then
        -- An upsert waits for the exclusive lock of a row that another has just made; two that got a shared one, as a
        -- plain insert does, would then wait for each other.
        insert into {schema}.{table_name}(name, cap, used) values(name_, cap_, 0) on duplicate key update seq = seq;
        select n.cap, n.token, n.seq into has_cap_, has_token_, last_seq_
          from {schema}.{table_name} n where n.name = name_ for update;
      end if;
      if has_cap_ is not null then
        set locked_ = name_;
        if has_token_ = 0 then
          select m.token_floor into has_token_ from {schema}.{table_meta} m;
        end if;
      end if;
    end if;
    set mine_ = null, changed_ = false, settled_ = false, ready_ = locked_ is null, old_token_ = has_token_;
    set now_ = timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
    while not ready_ do
      select coalesce(sum(c.state <> 'd'), 0), coalesce(sum(c.state = 'w'), 0),
             coalesce(sum(if(c.state = 'h', c.weight, 0)), 0), coalesce(max(c.upgrading), 0), min(c.ends),
             max(if(c.id = id_, c.seq, null))
        into live_, waiting_, taken_, upgrading_, first_end_, mine_
        from {schema}.{table_claim} c where c.name = name_;
      if first_end_ < now_ then  -- strictly past: else two holders share an instant
        delete from {schema}.{table_claim} where name = name_ and ends < now_;
      elseif not settled_ and (waiting_ > 0 and taken_ < has_cap_ or upgrading_) then
        call {schema}.{table_settle}(name_, now_, has_cap_, has_token_);
        set settled_ = true;
      else
        set ready_ = true;
      end if;
    end while;
    if mine_ is not null then
      select c.state, c.shared, c.evicted, c.upgrading, c.weight, c.token, c.tokens, c.ends
        into mine_state_, mine_shared_, mine_evicted_, mine_upgrading_, mine_weight_, mine_token_, mine_tokens_,
             mine_ends_
        from {schema}.{table_claim} c where c.name = name_ and c.seq = mine_;
    end if;

    if locked_ is null then  -- nobody has ever asked for it
      if op_ = 5 then set answer_ = 10; end if;

    elseif op_ = 1 and mine_ is null then  -- enter
      set blocked_ = waiting_ > 0 or upgrading_ or taken_ + weight_ > has_cap_;
      if has_cap_ <> cap_ and live_ > 0 then
        set answer_ = 5, again_ = has_cap_;
      elseif has_cap_ = cap_ and blocked_ and not flags_ & 2 then
        set answer_ = 4;
        select ceil((min(c.ends) - now_) / 1000) into again_
          from {schema}.{table_claim} c where c.name = name_ and c.state <> 'd';
      else
        if has_cap_ <> cap_ then
          set has_cap_ = cap_, blocked_ = weight_ > cap_;
        end if;
        set last_seq_ = last_seq_ + 1, changed_ = true, seq_ = last_seq_, is_shared_ = flags_ & 1;
        if blocked_ then
          set answer_ = 3;
          select coalesce(sum(c.state = 'w'), 0), ceil((min(c.ends) - now_) / 1000) into ahead_, again_
            from {schema}.{table_claim} c where c.name = name_ and c.state <> 'd';
        elseif is_shared_ then
          set answer_ = 2, has_token_ = greatest(has_token_, 1), token_ = has_token_, tokens_ = 1;
        else
          set answer_ = 2, token_ = has_token_ + 1, tokens_ = wanted_, has_token_ = has_token_ + wanted_;
        end if;
        insert into {schema}.{table_claim}(name, seq, id, state, shared, weight, token, tokens, ends, since, origin)
          values(name_, last_seq_, id_, if(blocked_, 'w', 'h'), is_shared_, weight_, token_,
                 if(blocked_, wanted_, tokens_), now_ + if(blocked_, wait_, lease_) * 1000, now_, origin_);
      end if;

    elseif op_ = 1 or op_ = 2 then  -- enter again, or look
      if mine_ is null then
        set answer_ = 0;
      elseif mine_state_ = 'd' or mine_evicted_ then
        set answer_ = mine_evicted_, seq_ = mine_;
      else
        set until_ = now_ + if(mine_state_ = 'h', lease_, wait_) * 1000, seq_ = mine_, is_shared_ = mine_shared_;
        if op_ = 2 and mine_state_ = 'h' and not mine_shared_ and wanted_ > 1 then
          set mine_token_ = has_token_ + 1, mine_tokens_ = wanted_, has_token_ = has_token_ + wanted_;
          update {schema}.{table_claim} c set c.ends = greatest(c.ends, until_), c.token = mine_token_,
              c.tokens = mine_tokens_ where c.name = name_ and c.seq = mine_;
        elseif until_ > mine_ends_ then
          update {schema}.{table_claim} c set c.ends = until_ where c.name = name_ and c.seq = mine_;
        end if;
        if mine_state_ = 'h' then
          set answer_ = 2, token_ = mine_token_, tokens_ = mine_tokens_, behind_ = waiting_;
        else
          set answer_ = 3;
          select coalesce(sum(c.state = 'w'), 0), ceil((min(c.ends) - now_) / 1000) into ahead_, again_
            from {schema}.{table_claim} c
            where c.name = name_ and c.state <> 'd' and (c.state = 'h' or c.seq < mine_);
        end if;
      end if;

    elseif op_ = 3 then  -- leave
      if mine_ is not null and mine_state_ <> 'd' then
        set answer_ = if(mine_state_ = 'h', 7, 8);
        delete from {schema}.{table_claim} where name = name_ and seq = mine_;
      end if;
      if flags_ & 4 and (mine_ is null or mine_state_ <> 'd') then
        set last_seq_ = last_seq_ + 1, changed_ = true;
        insert into {schema}.{table_claim}(name, seq, id, state, shared, weight, ends, since, origin)
          values(name_, last_seq_, id_, 'd', false, 0, now_ + greatest(lease_, 60000) * 1000, now_, '');
      end if;
      if answer_ <> 0 and (waiting_ > 0 or upgrading_) then
        call {schema}.{table_settle}(name_, now_, has_cap_, has_token_);
      end if;

    elseif op_ = 4 then  -- convert
      if mine_ is null then
        set answer_ = 0;
      elseif mine_state_ <> 'h' or mine_evicted_ then
        set answer_ = mine_evicted_, seq_ = mine_;
      else
        set answer_ = 2, seq_ = mine_;
        if weight_ <= mine_weight_ then
          set mine_shared_ = flags_ & 1;
          update {schema}.{table_claim} c set c.upgrading = false, c.shared = mine_shared_, c.weight = weight_
            where c.name = name_ and c.seq = mine_;
          if waiting_ > 0 or upgrading_ then
            call {schema}.{table_settle}(name_, now_, has_cap_, has_token_);
            select coalesce(sum(c.state = 'w'), 0) into waiting_
              from {schema}.{table_claim} c where c.name = name_;
          end if;
        elseif upgrading_ and not mine_upgrading_ then
          set answer_ = 6;
        elseif taken_ - mine_weight_ + weight_ > has_cap_ then
          set answer_ = if(flags_ & 2, 3, 4);
          if answer_ = 3 and not mine_upgrading_ then
            update {schema}.{table_claim} c set c.upgrading = true where c.name = name_ and c.seq = mine_;
          end if;
          select ceil((min(c.ends) - now_) / 1000) into again_
            from {schema}.{table_claim} c where c.name = name_ and c.state = 'h';
        else
          set mine_shared_ = flags_ & 1;
          if not mine_shared_ then
            set has_token_ = has_token_ + 1, mine_token_ = has_token_, mine_tokens_ = 1;
          end if;
          update {schema}.{table_claim} c set c.upgrading = false, c.shared = mine_shared_, c.weight = weight_,
              c.token = mine_token_, c.tokens = mine_tokens_ where c.name = name_ and c.seq = mine_;
        end if;
        set is_shared_ = mine_shared_, token_ = mine_token_, tokens_ = mine_tokens_, behind_ = waiting_;
      end if;

    else  -- evict
      select max(c.seq) into mine_ from {schema}.{table_claim} c
        where c.name = name_ and c.state <> 'd' and not c.evicted and left(unhex(sha2(c.id, 256)), 16) = id_;
      set answer_ = 10;
      if mine_ is not null then
        set answer_ = 9;
        update {schema}.{table_claim} c set c.evicted = true, c.upgrading = false,
            c.state = if(c.state = 'w' or flags_ & 8, 'd', c.state) where c.name = name_ and c.seq = mine_;
        update {schema}.{table_meta} m set m.evictions = m.evictions + 1;
        call {schema}.{table_settle}(name_, now_, has_cap_, has_token_);
      end if;
    end if;

    if locked_ is not null and (changed_ or has_token_ <> old_token_) then
      update {schema}.{table_name} n set n.cap = has_cap_, n.token = has_token_, n.seq = last_seq_, n.used = now_
        where n.name = name_;
    end if;
    set again_ = if(again_ is null, 0, if(answer_ in (3, 4), greatest(again_, 1), again_));
    set answers_ = concat(answers_, answer_, ' ', is_shared_, ' ', token_, ' ', tokens_, ' ', ahead_, ' ', behind_, ' ',
                          again_, ' ', seq_, ';');

    if at_ > size_ then leave each_; end if;
    set op_ = substr(more_, at_, 1), flags_ = substr(more_, at_ + 1, 2), weight_ = substr(more_, at_ + 3, 10),
        cap_ = substr(more_, at_ + 13, 10), lease_ = substr(more_, at_ + 23, 12), wait_ = substr(more_, at_ + 35, 12),
        wanted_ = substr(more_, at_ + 47, 10), length_ = substr(more_, at_ + 57, 4), id_ = substr(more_, at_ + 66, 16),
        name_ = substr(more_, at_ + 82, length_), at_ = at_ + 82 + length_, length_ = substr(more_, at_ - 21 - length_, 5);
    set origin_ = substr(more_, at_, length_), at_ = at_ + length_;
  end loop;
  commit;
  select answers_;
end
$$

-- Forgets claims that ended a minute ago, and names that nobody has used for a day; their tokens stay used. One short
-- transaction for each name. Answers whether there is more to forget.
create procedure if not exists {schema}.{table_tidy}()
  modifies sql data sql security invoker
begin
  declare now_ bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare name_ varbinary(1024);
  declare token_ bigint;
  declare there_, seen_, over_ int default 0;
  declare ended_ cursor for
    select distinct c.name from {schema}.{table_claim} c where c.ends < now_ - 60000000 limit 256;
  declare idle_ cursor for
    select n.name from {schema}.{table_name} n where n.used < now_ - 86400000000
        and not exists (select 1 from {schema}.{table_claim} c where c.name = n.name) limit 256;
  declare continue handler for not found set over_ = 1;
  declare exit handler for sqlexception begin
    rollback;
    resignal;
  end;

  open ended_;
  fetch ended_ into name_;
  while not over_ do
    set seen_ = seen_ + 1;
    set transaction isolation level read committed;
    start transaction;
    select count(*) into there_ from {schema}.{table_name} n where n.name = name_ for update;
    delete from {schema}.{table_claim} where name = name_ and ends < now_ - 60000000;
    commit;
    fetch ended_ into name_;
  end while;
  close ended_;

  set over_ = 0;
  open idle_;
  fetch idle_ into name_;
  while not over_ do
    set seen_ = seen_ + 1;
    set transaction isolation level read committed;
    start transaction;
    select max(n.token) into token_ from {schema}.{table_name} n
      where n.name = name_ and n.used < now_ - 86400000000 for update;
    select count(*) into there_ from {schema}.{table_claim} c where c.name = name_;
    if token_ is not null and there_ = 0 then
      update {schema}.{table_meta} m set m.token_floor = greatest(m.token_floor, token_);
      delete from {schema}.{table_name} where name = name_;
    end if;
    commit;
    fetch idle_ into name_;
  end while;
  close idle_;
  select if(seen_ >= 256, '1', '0');
end
$$

-- Last: whoever finds the version finds all the rest.
create table if not exists {schema}.{table_meta}(
  one         tinyint not null primary key default 1,
  version     int     not null,
  token_floor bigint  not null,           -- above every token of a name that was forgotten
  evictions   bigint  not null default 0  -- so far: whoever holds something looks when there are more of them
) engine = InnoDB
$$
insert into {schema}.{table_meta}(version, token_floor) values(1, 0) on duplicate key update version = version
$$

delimiter ;
