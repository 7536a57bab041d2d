-- How the server is set up, for interlock doctor.
select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
       current_setting('full_page_writes'), current_setting('synchronous_standby_names'),
       (select count(*) from pg_stat_replication), extract(epoch from clock_timestamp())::text,
       coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false), inet_server_addr() is null,
       current_setting('max_connections')::integer - (select count(*) from pg_stat_activity
                                                       where backend_type = 'client backend'),
       current_setting('transaction_isolation'),
       (select coalesce(max(extract(epoch from reply_time - clock_timestamp())), 0)::text from pg_stat_replication)
