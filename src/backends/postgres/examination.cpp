// SPDX-License-Identifier: MIT
#include "backends/postgres/examination.hpp"

#include "backends/postgres/examine.sql.hpp"
#include "backends/postgres/examine_tables.sql.hpp"
#include "backends/sql/session_store.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace interlock::inline v1::postgres_store {
namespace {

using verdict = store_check::verdict;

/// The one row of examine.sql.
struct findings {
  const sql::rows* row;
  [[nodiscard]] std::string text(std::size_t column) const { return std::string(row->field(0, column)); }
  [[nodiscard]] double number(std::size_t column) const { return std::atof(text(column).c_str()); }
  [[nodiscard]] bool yes(std::size_t column) const { return text(column) == "t"; }
};

void check_durability(const findings& found, std::vector<store_check>& out) {
  const auto seen =
      "fsync " + found.text(1) + ", synchronous_commit " + found.text(2) + ", full_page_writes " + found.text(3);
  if (found.text(1) != "on" || found.text(2) == "off")
    out.push_back({verdict::warn, "durability", seen + ": a crash takes back the last moments, tokens included",
                   "fsync = on and synchronous_commit = on, the defaults"});
  else if (found.text(3) != "on")
    out.push_back({verdict::warn, "durability", seen + ": a power cut may damage the tables", "full_page_writes = on"});
  else
    out.push_back({verdict::ok, "durability", seen, {}});
}

void check_standbys(const findings& found, std::vector<store_check>& out) {
  const auto count = found.text(5);
  if (count == "0")
    out.push_back({verdict::ok, "standbys", "none connected", {}});
  else if (found.text(4).empty() || found.text(2) == "local")
    out.push_back({verdict::warn, "standbys",
                   count + ", not waited for: a fail-over to one of them may forget who holds a lock",
                   "synchronous_standby_names = 'ANY 1 (*)'"});
  else
    out.push_back({verdict::ok, "standbys", count + ", commits wait for " + found.text(4), {}});
}

void check_clock(const findings& found, std::vector<store_check>& out) {
  using seconds = std::chrono::duration<double>;
  const auto here = seconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto apart = std::llround(std::abs(here - found.number(6)));
  if (apart > 2)
    out.push_back({verdict::warn, "clock", "the server's differs by " + std::to_string(apart) + " s from this host's",
                   "leases are counted on the server's clock alone, but a clock that is set forwards ends them early: "
                   "let both be slewed by NTP"});
  else
    out.push_back({verdict::ok, "clock", "as this host's", {}});
}

// What a standby says bears its own time. A fail-over lets its clock judge leases that were written by this server's.
void check_standby_clocks(const findings& found, std::vector<store_check>& out) {
  if (found.text(5) == "0") return;
  const auto ahead = std::llround(found.number(11));
  if (ahead > 2)
    out.push_back(
        {verdict::warn, "standby clocks",
         "one is " + std::to_string(ahead) + " s ahead of this server: after a fail-over it ends leases early",
         "let all hosts be slewed by NTP"});
  else
    out.push_back({verdict::ok, "standby clocks", "none is ahead of this server", {}});
}

// Set by each session of ours; the functions refuse any other.
void check_isolation(const findings& found, std::vector<store_check>& out) {
  const bool good = found.text(10) == "read committed";
  out.push_back({good ? verdict::ok : verdict::fail, "isolation", found.text(10),
                 good ? "" : "something in between sets another one: connect to the server itself"});
}

void check_way(const findings& found, std::vector<store_check>& out) {
  if (found.yes(8))
    out.push_back({verdict::ok, "encryption", "none needed: a unix socket", {}});
  else if (found.yes(7))
    out.push_back({verdict::ok, "encryption", "TLS", {}});
  else
    out.push_back({verdict::warn, "encryption", "none: whoever is on the way can take and end locks",
                   "sslmode=verify-full in the URL"});
}

void check_room(const findings& found, std::vector<store_check>& out) {
  const auto left = static_cast<long>(found.number(9));
  out.push_back({left < 10 ? verdict::warn : verdict::ok, "connections", std::to_string(left) + " more are possible",
                 left < 10 ? "raise max_connections: a client that cannot come back loses its locks" : ""});
}

void check_tables(const findings& found, std::vector<store_check>& out) {
  const auto size = static_cast<long>(found.number(13) / 1024 / 1024);
  const bool old = found.number(12) > 0;
  out.push_back(
      {size > 256 || old ? verdict::warn : verdict::ok, "tables",
       std::to_string(size) + " MB" + (old ? ", " + found.text(12) + " claims ended more than an hour ago" : ""),
       size > 256 ? "is autovacuum on, and no transaction left open for hours?"
       : old      ? "a client that stays connected removes them, every ten minutes"
                  : ""});
}

using checks = std::vector<store_check>;

template <class Check>
std::shared_ptr<sql::errand> examine(std::string text, Check check, completion<checks> done) {
  auto out =
      std::make_shared<sql::errand>(nullptr, std::vector<std::string>{},
                                    [check, done = std::move(done)](const result<const sql::rows*>& got) mutable {
                                      if (!got) return done(got.error());
                                      const findings found{*got};
                                      checks all;
                                      all.push_back({verdict::ok, "server", "PostgreSQL " + found.text(0), {}});
                                      check(found, all);
                                      check_way(found, all);
                                      check_room(found, all);
                                      done(std::move(all));
                                    });
  out->text = std::move(text);
  return out;
}

}  // namespace

std::shared_ptr<sql::errand> examination_errand(const object_names& names, completion<checks> done) {
  const auto text = std::string(embedded::postgres_examine_sql) + std::string(embedded::postgres_examine_tables_sql);
  return examine(
      filled_in(text, names),
      [](const findings& found, checks& all) {
        check_durability(found, all);
        check_standbys(found, all);
        check_isolation(found, all);
        check_clock(found, all);
        check_standby_clocks(found, all);
        check_tables(found, all);
      },
      std::move(done));
}

std::shared_ptr<sql::errand> session_examination_errand(completion<checks> done) {
  return examine(
      std::string(embedded::postgres_examine_sql),
      [](const findings&, checks& all) {
        all.push_back({verdict::warn, "sessions", sql::session_caveat,
                       "without mode=session locks are in tables, with leases and tokens"});
      },
      std::move(done));
}

}  // namespace interlock::inline v1::postgres_store
