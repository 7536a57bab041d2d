-- {from}: from this name on; {before}: before this one, or empty; {most}: at most so many names.
select c.name, n.cap, c.id, c.state = 'h', c.shared, c.weight, c.token, c.tokens, floor((clock.now - c.since) / 1000),
       floor((c.ends - clock.now) / 1000), c.origin
  from (select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) as now) clock
  join (select distinct p.name from {schema}.{table_claim} p
          where p.name >= {from} and ({before} = '' or p.name < {before}) and p.state <> 'd'
            and p.ends >= timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))
          order by p.name limit {most}) page
  join {schema}.{table_claim} c on c.name = page.name
  join {schema}.{table_name} n on n.name = c.name
  where c.state <> 'd' and c.ends >= clock.now
  order by c.name, c.seq
