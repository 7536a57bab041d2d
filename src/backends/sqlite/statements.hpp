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
      "select seq, token, since, capacity, last_seq, secret, state, mode, weight, tokens, ends, lease, evicted, "
      "upgrading, channel from book where name = ?1 order by seq"};
  statement put_header{"insert into book(name, seq, token, since, capacity, last_seq) values(?1, 0, ?2, ?3, ?4, ?5) "
                       "on conflict do update set token = ?2, since = ?3, capacity = ?4, last_seq = ?5"};
  statement add_claim{
      "insert into book(name, seq, token, since, secret, state, mode, weight, tokens, ends, lease, evicted, upgrading, "
      "channel, pid, host, program, purpose) "
      "values(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"};
  statement alter_claim{
      "update book set token = ?3, since = ?4, state = ?6, mode = ?7, weight = ?8, tokens = ?9, ends = ?10, "
      "lease = ?11, evicted = ?12, upgrading = ?13 where name = ?1 and seq = ?2"};
  statement remove_claim{"delete from book where name = ?1 and seq = ?2"};

  statement survey{
      "select name, seq, token, since, capacity, last_seq, secret, state, mode, weight, tokens, ends, evicted, "
      "upgrading, pid, host, program, purpose from book where name >= ?1 and name < ?2 order by name, seq"};

  statement set_generation{"update meta set generation = max(generation, ?1)"};
  statement idle_names{"select name from book as header where seq = 0 and since < ?1 "
                       "and not exists(select 1 from book where name = header.name and seq > 0) limit 256"};
  statement ended_names{"select distinct name from book where seq > 0 and ends < ?1 limit 256"};
  statement remember_token{
      "update meta set token_floor = max(token_floor, (select token from book where name = ?1 and seq = 0))"};
  statement set_swept{"update meta set swept = ?1"};
};

}  // namespace interlock::inline v1::sqlite_store
