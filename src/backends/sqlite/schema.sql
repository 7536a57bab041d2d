-- One clustered table, so that entering or leaving an idle name dirties one page. Row seq 0 of a name is its header:
-- capacity, token (the last one given) and last_seq go on from there. Rows seq > 0 are its claims in order of arrival.
-- Instants are microseconds of the boot clock; they mean nothing under another boot id.
create table book(
  name      blob    not null,
  seq       integer not null,
  token     integer not null,
  since     integer not null,  -- header: last written; claim: granted, or queued
  capacity  integer,
  last_seq  integer,
  secret    blob,
  state     integer,           -- 0 waiting, 1 held, 2 tombstone
  mode      integer,           -- 0 exclusive, 1 shared
  weight    integer,
  tokens    integer,
  ends      integer,
  lease     integer,           -- milliseconds
  evicted   integer,
  upgrading integer,
  channel   integer,           -- socket to wake, 0: none
  pid       integer,
  host      text,
  program   text,
  purpose   text,
  primary key(name, seq)
) strict, without rowid;

create table meta(
  one         integer primary key check(one = 1),
  schema      integer not null,  -- 1: what this file says; later layouts keep this column
  boot        text    not null,  -- whose boot clock the instants are of
  generation  integer not null,  -- tokens of this boot are above generation * 2^40
  token_floor integer not null,  -- above every token of a name that was forgotten
  swept       integer not null   -- when idle names were last forgotten
) strict;
