-- Behind examine.sql, where locks are in tables.
, @@global.binlog_format, timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) / 1000000,
       (select count(*) from {schema}.{table_claim} c
          where c.ends < timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) - 3600000000),
       (select coalesce(sum(t.data_length + t.index_length), 0) from information_schema.tables t where {tables}),
       (select count(*) from information_schema.tables t where {tables} and t.engine = 'InnoDB'),
       (select version from {schema}.{table_meta})
