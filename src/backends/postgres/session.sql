-- The statements of mode=session. A key of two numbers comes as one, the first in the upper half. Where a pooler is in
-- between, every answer names the process that gave it: the locks are that process's, and another one knows nothing of
-- them.
prepare interlock_lock(bigint) as select pg_try_advisory_lock($1){whose};
prepare interlock_lock_shared(bigint) as select pg_try_advisory_lock_shared($1){whose};
prepare interlock_lock_pair(bigint) as
  select pg_try_advisory_lock(($1 >> 32)::integer, (($1 << 32) >> 32)::integer){whose};
prepare interlock_lock_pair_shared(bigint) as
  select pg_try_advisory_lock_shared(($1 >> 32)::integer, (($1 << 32) >> 32)::integer){whose};
prepare interlock_unlock(bigint) as select pg_advisory_unlock($1){whose};
prepare interlock_unlock_shared(bigint) as select pg_advisory_unlock_shared($1){whose};
prepare interlock_unlock_pair(bigint) as
  select pg_advisory_unlock(($1 >> 32)::integer, (($1 << 32) >> 32)::integer){whose};
prepare interlock_unlock_pair_shared(bigint) as
  select pg_advisory_unlock_shared(($1 >> 32)::integer, (($1 << 32) >> 32)::integer){whose};
-- Many at once, as the texts of arrays. 0: tries nothing, and only shows that the session is there.
prepare interlock_try(text, text) as
  select case kind when 1 then pg_try_advisory_lock(key) when 2 then pg_try_advisory_lock_shared(key)
                   when 3 then pg_try_advisory_lock((key >> 32)::integer, ((key << 32) >> 32)::integer)
                   when 4 then pg_try_advisory_lock_shared((key >> 32)::integer, ((key << 32) >> 32)::integer)
                   else true end{whose}
    from unnest($1::smallint[], $2::bigint[]) as asked(kind, key);
-- How long, in milliseconds, the server keeps a session that says nothing; and, in seconds, when it begins to ask whether
-- anybody is there at all.
prepare interlock_patience(text, text) as
  select set_config('idle_session_timeout', $1, false), set_config('tcp_keepalives_idle', $2, false);
