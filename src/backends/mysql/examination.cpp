// SPDX-License-Identifier: MIT
#include "backends/mysql/examination.hpp"

#include "backends/mysql/examine.sql.hpp"
#include "backends/mysql/examine_tables.sql.hpp"
#include "backends/mysql/settings.hpp"
#include "backends/mysql/wire.hpp"

#include <utility>

namespace interlock::inline v1::mysql_store {
namespace {

using sql::checks;
using sql::findings;
using verdict = store_check::verdict;

store_check check_durability(const server_facts& found) {
  const auto seen = "innodb_flush_log_at_trx_commit " + found.flush_log +
                    (found.log_bin == "ON" ? ", sync_binlog " + found.sync_binlog : ", no binary log");
  if (found.flush_log != "1")
    return {verdict::warn, "durability", seen + ": a crash takes back the last moments, tokens included",
            "innodb_flush_log_at_trx_commit = 1, the default"};
  if (found.log_bin == "ON" && found.sync_binlog != "1")
    return {verdict::warn, "durability", seen + ": a crash takes back what the binary log has not got",
            "sync_binlog = 1"};
  return {verdict::ok, "durability", seen, {}};
}

store_check check_replication(const server_facts& found) {
  const auto count = std::to_string(found.replicas);
  if (found.is_replica)
    return {verdict::warn, "replication", "this server replicates another, which may know other holders",
            "keep locks on the primary alone"};
  if (found.replicas > 0 && !found.waits_for_replicas)
    return {verdict::warn, "replication",
            count + " replicas, not waited for: a fail-over to one of them may forget who holds a lock",
            "rpl_semi_sync_master_enabled = ON"};
  return {verdict::ok,
          "replication",
          found.replicas > 0 ? count + " replicas, commits wait for one" : "no replicas connected",
          {}};
}

store_check check_schema(const findings& seen) {
  if (seen.number(6) == 3)
    return {verdict::ok, "schema", "version " + seen.text(7) + ", InnoDB, names compared byte by byte", {}};
  return {verdict::fail, "schema", "not all tables are InnoDB's: there are no transactions",
          "drop the tables and let them be made again"};
}

// Tables do without a session of our own; what they cannot do is to end the session of a connection that broke.
store_check check_pooler(const server_facts& found) {
  if (!found.pooled) return {verdict::ok, "pooler", "none in between", {}};
  return {verdict::warn, "pooler", "one in between: what was sent on a connection that broke may be carried out late",
          "connect to the server itself"};
}

// Of every connection, whatever locks are.
void check_connection(const server_facts& found, const findings& seen, checks& out) {
  out.push_back(check_pooler(found));
  out.push_back(sql::check_way(found.by_socket, !found.cipher.empty()));
  out.push_back(sql::check_room(static_cast<long>(seen.number(1))));
}

store_check server(const server_facts& found, const findings& seen) {
  return {verdict::ok, "server", (found.maria ? "MariaDB " : "MySQL ") + seen.text(0), {}};
}

checks judge_tables(const server_facts& found, const findings& seen) {
  checks out{server(found, seen), check_durability(found), check_replication(found)};
  if (found.log_bin == "ON" && seen.text(2) == "STATEMENT")
    out.push_back({verdict::fail, "binary log", "binlog_format is STATEMENT, which refuses what our procedures do",
                   "binlog_format = ROW or MIXED"});
  out.push_back({verdict::ok, "isolation", "read committed, whatever the server's default: the procedures set it", {}});
  out.push_back(sql::check_clock(seen.number(3)));
  check_connection(found, seen, out);
  out.push_back(sql::check_tables(seen.number(5), static_cast<long>(seen.number(4)),
                                  "optimize table gives back what removed rows took"));
  out.push_back(check_schema(seen));
  return out;
}

checks judge_sessions(const server_facts& found, const findings& seen) {
  checks out{server(found, seen), sql::check_sessions()};
  check_connection(found, seen, out);
  return out;
}

std::string filled_in(const sql::object_names& names) {
  const auto text = [](const std::string& of) { return "convert(" + literal(of) + " using utf8mb4)"; };
  const auto tables = "t.table_schema = " + text(names.schema) + " and t.table_name in (" +
                      text(names.table + "_name") + ", " + text(names.table + "_claim") + ", " +
                      text(names.table + "_meta") + ")";
  auto out = std::string(embedded::mysql_examine_sql) + std::string(embedded::mysql_examine_tables_sql);
  constexpr std::string_view place = "{tables}";
  for (auto at = out.find(place); at != out.npos; at = out.find(place, at + tables.size()))
    out.replace(at, place.size(), tables);
  return sql::filled_in(out, names);
}

}  // namespace

std::shared_ptr<sql::errand> examination_errand(const sql::object_names& names, const server_facts& found,
                                                completion<checks> done) {
  return sql::examine(
      filled_in(names), [found](const findings& seen) { return judge_tables(found, seen); }, std::move(done));
}

std::shared_ptr<sql::errand> session_examination_errand(const server_facts& found, completion<checks> done) {
  return sql::examine(
      std::string(embedded::mysql_examine_sql), [found](const findings& seen) { return judge_sessions(found, seen); },
      std::move(done));
}

}  // namespace interlock::inline v1::mysql_store
