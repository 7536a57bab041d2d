-- $1: from this name on; $2: before this one, or empty; $3: at most so many names.
with clock as materialized (select clock_timestamp() as now),
  page as (
    select distinct c.name from {schema}.{table_claim} c, clock
      where c.name >= $1 and ($2 = '' or c.name < $2) and c.state <> 'd' and c.ends >= clock.now
      order by c.name limit $3)
select c.name, n.cap::text, uuid_send(c.id), (c.state = 'h')::integer::text, c.shared::integer::text, c.weight::text,
       c.token::text, c.tokens::text, floor(extract(epoch from clock.now - c.since) * 1000)::bigint::text,
       floor(extract(epoch from c.ends - clock.now) * 1000)::bigint::text, c.origin
  from clock, page join {schema}.{table_claim} c using (name) join {schema}.{table_name} n using (name)
  where c.state <> 'd' and c.ends >= clock.now
  order by c.name, c.seq
