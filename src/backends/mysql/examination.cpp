// SPDX-License-Identifier: MIT
#include "backends/mysql/examination.hpp"

#include "backends/mysql/examine.sql.hpp"
#include "backends/mysql/settings.hpp"
#include "backends/mysql/wire.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace interlock::inline v1::mysql_store {
namespace {

using verdict = store_check::verdict;

/// The one row of examine.sql.
struct findings {
  const sql::rows* row;
  [[nodiscard]] std::string text(std::size_t column) const { return std::string(row->field(0, column)); }
  [[nodiscard]] double number(std::size_t column) const { return std::atof(text(column).c_str()); }
};

void check_durability(const server_facts& found, std::vector<store_check>& out) {
  const auto seen = "innodb_flush_log_at_trx_commit " + found.flush_log +
                    (found.log_bin == "ON" ? ", sync_binlog " + found.sync_binlog : ", no binary log");
  if (found.flush_log != "1")
    out.push_back({verdict::warn, "durability", seen + ": a crash takes back the last moments, tokens included",
                   "innodb_flush_log_at_trx_commit = 1, the default"});
  else if (found.log_bin == "ON" && found.sync_binlog != "1")
    out.push_back({verdict::warn, "durability", seen + ": a crash takes back what the binary log has not got",
                   "sync_binlog = 1"});
  else
    out.push_back({verdict::ok, "durability", seen, {}});
}

void check_replication(const server_facts& found, const findings& seen, std::vector<store_check>& out) {
  const auto count = std::to_string(found.replicas);
  if (found.is_replica)
    out.push_back({verdict::warn, "replication", "this server replicates another, which may know other holders",
                   "keep locks on the primary alone"});
  else if (found.replicas > 0 && !found.waits_for_replicas)
    out.push_back({verdict::warn, "replication",
                   count + " replicas, not waited for: a fail-over to one of them may forget who holds a lock",
                   "rpl_semi_sync_master_enabled = ON"});
  else
    out.push_back({verdict::ok,
                   "replication",
                   found.replicas > 0 ? count + " replicas, commits wait for one" : "no replicas connected",
                   {}});
  if (found.log_bin == "ON" && seen.text(1) == "STATEMENT")
    out.push_back({verdict::fail, "binary log", "binlog_format is STATEMENT, which refuses what our procedures do",
                   "binlog_format = ROW or MIXED"});
}

void check_clock(const findings& found, std::vector<store_check>& out) {
  using seconds = std::chrono::duration<double>;
  const auto here = seconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto apart = std::llround(std::abs(here - found.number(4)));
  if (apart > 2)
    out.push_back({verdict::warn, "clock", "the server's differs by " + std::to_string(apart) + " s from this host's",
                   "leases are counted on the server's clock alone, but a clock that is set forwards ends them early: "
                   "let both be slewed by NTP"});
  else
    out.push_back({verdict::ok, "clock", "as this host's", {}});
}

void check_way(const server_facts& found, std::vector<store_check>& out) {
  if (found.by_socket)
    out.push_back({verdict::ok, "encryption", "none needed: a unix socket", {}});
  else if (!found.cipher.empty())
    out.push_back({verdict::ok, "encryption", "TLS", {}});
  else
    out.push_back({verdict::warn, "encryption", "none: whoever is on the way can take and end locks",
                   "sslmode=verify-full in the URL"});
}

void check_room(const findings& found, std::vector<store_check>& out) {
  const auto left = static_cast<long>(found.number(2) - found.number(3));
  out.push_back({left < 10 ? verdict::warn : verdict::ok, "connections", std::to_string(left) + " more are possible",
                 left < 10 ? "raise max_connections: a client that cannot come back loses its locks" : ""});
  const auto size = static_cast<long>(found.number(6) / 1024 / 1024);
  const bool old = found.number(5) > 0;
  out.push_back(
      {size > 256 || old ? verdict::warn : verdict::ok, "tables",
       std::to_string(size) + " MB" + (old ? ", " + found.text(5) + " claims ended more than an hour ago" : ""),
       size > 256 || old ? "a client that stays connected removes old rows, every ten minutes" : ""});
}

void check_schema(const findings& found, std::vector<store_check>& out) {
  if (found.number(7) == 3)
    out.push_back({verdict::ok, "schema", "version " + found.text(8) + ", InnoDB, names compared byte by byte", {}});
  else
    out.push_back({verdict::fail, "schema", "not all tables are InnoDB's: there are no transactions",
                   "drop the tables and let them be made again"});
}

std::string filled_in(const sql::object_names& names) {
  const auto text = [](const std::string& of) { return "convert(" + literal(of) + " using utf8mb4)"; };
  const auto tables = "t.table_schema = " + text(names.schema) + " and t.table_name in (" +
                      text(names.table + "_name") + ", " + text(names.table + "_claim") + ", " +
                      text(names.table + "_meta") + ")";
  std::string out(embedded::mysql_examine_sql);
  constexpr std::string_view place = "{tables}";
  for (auto at = out.find(place); at != out.npos; at = out.find(place, at + tables.size()))
    out.replace(at, place.size(), tables);
  return sql::filled_in(out, names);
}

}  // namespace

std::shared_ptr<sql::errand> examination_errand(const sql::object_names& names, const server_facts& found,
                                                completion<std::vector<store_check>> done) {
  auto out = std::make_shared<sql::errand>(
      nullptr, std::vector<std::string>{},
      [found, done = std::move(done)](const result<const sql::rows*>& got) mutable {
        if (!got) return done(got.error());
        const findings seen{*got};
        std::vector<store_check> all;
        all.push_back({verdict::ok, "server", (found.maria ? "MariaDB " : "MySQL ") + seen.text(0), {}});
        check_durability(found, all);
        check_replication(found, seen, all);
        all.push_back(
            {verdict::ok, "isolation", "read committed, whatever the server's default: the procedures set it", {}});
        check_clock(seen, all);
        check_way(found, all);
        check_room(seen, all);
        check_schema(seen, all);
        done(std::move(all));
      });
  out->text = filled_in(names);
  return out;
}

std::shared_ptr<sql::errand> session_examination_errand(const server_facts& found,
                                                        completion<std::vector<store_check>> done) {
  auto out = std::make_shared<sql::errand>(
      nullptr, std::vector<std::string>{},
      [found, done = std::move(done)](const result<const sql::rows*>& got) mutable {
        if (!got) return done(got.error());
        const findings seen{*got};
        std::vector<store_check> all;
        all.push_back({verdict::ok, "server", (found.maria ? "MariaDB " : "MySQL ") + seen.text(0), {}});
        all.push_back({verdict::warn, "fail-over", "locks of a session are not replicated, and end with the server",
                       "without mode=session they are kept in tables"});
        check_way(found, all);
        done(std::move(all));
      });
  out->text = "select version()";
  return out;
}

}  // namespace interlock::inline v1::mysql_store
