// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sqlite/connection.hpp"

namespace interlock::inline v1::sqlite_store {

/// Every SQL text that runs more than once. Column and parameter numbers are used in ledger*.cpp, next to each other
/// with these.
struct statements {
  statement begin{"begin immediate"};
  statement commit{"commit"};
  statement rollback{"rollback"};

  statement meta{"select schema, boot, generation, token_floor, swept from meta"};
  statement book{
      "select seq, token, since, weight, tokens, flags, ends, lease, channel, secret from book where name = ?1 "
      "order by seq"};
  statement add_header{"insert into book(name, seq, token, since, weight, tokens) values(?1, 0, ?2, ?3, ?4, ?5)"};
  statement alter_header{
      "update book set token = ?2, since = ?3, weight = ?4, tokens = ?5 where name = ?1 and seq = 0"};
  statement add_claim{"insert into book values(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"};
  statement alter_claim{
      "update book set token = ?3, since = ?4, weight = ?5, tokens = ?6, flags = ?7, ends = ?8, lease = ?9 "
      "where name = ?1 and seq = ?2"};
  statement remove_claim{"delete from book where name = ?1 and seq = ?2"};

  statement survey{
      "select seq, token, since, weight, tokens, flags, ends, lease, channel, secret, name, origin from book "
      "where name >= ?1 and name < ?2 order by name, seq"};

  statement set_generation{"update meta set generation = max(generation, ?1)"};
  statement idle_names{"select name from book as header where seq = 0 and since < ?1 "
                       "and not exists(select 1 from book where name = header.name and seq > 0) limit 256"};
  statement ended_names{"select distinct name from book where seq > 0 and ends < ?1 limit 256"};
  statement remember_token{
      "update meta set token_floor = max(token_floor, (select token from book where name = ?1 and seq = 0))"};
  statement cell{"select version, there, value, log, boot, ends from cell where name = ?1"};
  statement put_cell{"insert or replace into cell values(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"};
  statement adopt_cells{"update cell set boot = ?1, ends = ?2 + keep * 1000 where boot <> ?1 and keep > 0"};
  statement forget_cells{"delete from cell where boot = ?1 and ends < ?2 and name <> x''"};

  statement set_swept{"update meta set swept = ?1"};
};

}  // namespace interlock::inline v1::sqlite_store
