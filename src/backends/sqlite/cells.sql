-- Small values with versions, in files that have any; programs that know nothing of them leave this table alone. The row
-- with the empty name has the last version given to any cell, so that a cell that was forgotten needs no trace.
create table if not exists cell(
  name    blob    not null primary key,
  version integer not null,  -- of the last change
  there   integer not null,  -- 0: removed, and remembered for a while
  value   blob    not null,
  log     blob    not null,  -- the last changes, oldest first: mark (16 bytes), version (8 bytes, little-endian)
  boot    text    not null,  -- whose boot clock `ends` is of
  ends    integer not null,  -- microseconds; forgotten after that
  keep    integer not null   -- milliseconds that is after the last change; 0: for ever
) strict, without rowid;
