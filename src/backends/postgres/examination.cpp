// SPDX-License-Identifier: MIT
#include "backends/postgres/examination.hpp"

#include "backends/postgres/examine.sql.hpp"
#include "backends/postgres/examine_tables.sql.hpp"

#include <cmath>
#include <utility>

namespace interlock::inline v1::postgres_store {
namespace {

using sql::checks;
using sql::findings;
using verdict = store_check::verdict;

store_check check_durability(const findings& found) {
  const auto seen =
      "fsync " + found.text(1) + ", synchronous_commit " + found.text(2) + ", full_page_writes " + found.text(3);
  if (found.text(1) != "on" || found.text(2) == "off")
    return {verdict::warn, "durability", seen + ": a crash takes back the last moments, tokens included",
            "fsync = on and synchronous_commit = on, the defaults"};
  if (found.text(3) != "on")
    return {verdict::warn, "durability", seen + ": a power cut may damage the tables", "full_page_writes = on"};
  return {verdict::ok, "durability", seen, {}};
}

store_check check_standbys(const findings& found) {
  const auto count = found.text(5);
  if (count == "0") return {verdict::ok, "standbys", "none connected", {}};
  if (found.text(4).empty() || found.text(2) == "local")
    return {verdict::warn, "standbys",
            count + ", not waited for: a fail-over to one of them may forget who holds a lock",
            "synchronous_standby_names = 'ANY 1 (*)'"};
  return {verdict::ok, "standbys", count + ", commits wait for " + found.text(4), {}};
}

// What a standby says bears its own time. A fail-over lets its clock judge leases that were written by this server's.
void check_standby_clocks(const findings& found, checks& out) {
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
store_check check_isolation(const findings& found) {
  const bool good = found.text(10) == "read committed";
  return {good ? verdict::ok : verdict::fail, "isolation", found.text(10),
          good ? "" : "something in between sets another one: connect to the server itself"};
}

// Of every connection, whatever locks are. A pooler is refused, unless the URL says that this one may be there.
void check_connection(const server_facts& at, const findings& found, checks& out) {
  out.push_back(
      {verdict::ok,
       "pooler",
       at.pooled ? "one in between, which leaves each client its session, as the URL says" : "none in between",
       {}});
  out.push_back(sql::check_way(found.yes(8), found.yes(7)));
  out.push_back(sql::check_room(static_cast<long>(found.number(9))));
}

store_check server(const findings& found) { return {verdict::ok, "server", "PostgreSQL " + found.text(0), {}}; }

checks judge_tables(const server_facts& at, const findings& found) {
  checks out{server(found), check_durability(found), check_standbys(found), check_isolation(found),
             sql::check_clock(found.number(6))};
  check_standby_clocks(found, out);
  out.push_back(sql::check_tables(found.number(13), static_cast<long>(found.number(12)),
                                  "is autovacuum on, and no transaction left open for hours?"));
  check_connection(at, found, out);
  return out;
}

checks judge_sessions(const server_facts& at, const findings& found) {
  checks out{server(found), sql::check_sessions()};
  check_connection(at, found, out);
  return out;
}

}  // namespace

std::shared_ptr<sql::errand> examination_errand(const object_names& names, const server_facts& at,
                                                completion<checks> done) {
  const auto text = std::string(embedded::postgres_examine_sql) + std::string(embedded::postgres_examine_tables_sql);
  return sql::examine(
      filled_in(text, names), [at](const findings& found) { return judge_tables(at, found); }, std::move(done));
}

std::shared_ptr<sql::errand> session_examination_errand(const server_facts& at, completion<checks> done) {
  return sql::examine(
      std::string(embedded::postgres_examine_sql), [at](const findings& found) { return judge_sessions(at, found); },
      std::move(done));
}

}  // namespace interlock::inline v1::postgres_store
