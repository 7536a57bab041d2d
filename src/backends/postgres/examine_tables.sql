-- Behind examine.sql, where locks are in tables.
,
       (select count(*) from {schema}.{table_claim} c where c.ends < clock_timestamp() - interval '1 hour'),
       pg_total_relation_size($interlock${schema}.{table_claim}$interlock$) +
         pg_total_relation_size($interlock${schema}.{table_name}$interlock$)
