-- One clustered table, so that entering or leaving an idle name dirties one page; few columns, because every change
-- reads and writes them all. Row seq 0 of a name is its header, rows seq > 0 are its claims in order of arrival.
-- Instants are microseconds of the boot clock; they mean nothing under another boot id.
create table book(
  name    blob    not null,
  seq     integer not null,
  token   integer not null,  -- header: the last one given; claim: the first of its own
  since   integer not null,  -- header: last written; claim: granted, or queued
  weight  integer not null,  -- header: capacity
  tokens  integer not null,  -- header: seq of the last claim; claim: how many it has reserved
  flags   integer,           -- 0 waiting, 1 held, 2 tombstone; + 4 shared, + 8 evicted, + 16 upgrading
  ends    integer,
  lease   integer,           -- milliseconds
  channel integer,           -- socket to wake, 0: none
  secret  blob,
  origin  text,              -- pid, host, program, purpose, a line each
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
