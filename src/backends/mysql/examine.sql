-- What interlock doctor wants to know besides what was found out when connecting.
select version(), @@global.max_connections - (select count(*) from information_schema.processlist)
