// SPDX-License-Identifier: MIT
#include "backends/mysql/dial.hpp"

#include "backends/mysql/asker.hpp"
#include "backends/mysql/introduction.hpp"
#include "backends/mysql/replica_clocks.hpp"
#include "backends/mysql/server_error.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

namespace interlock::inline v1::mysql_store {
namespace {

constexpr std::chrono::seconds silence{3'600};  // tidying is heard more often; whoever died is not kept for ever

// What the connection that broke was sent last may still lie in the server's buffer, to be carried out behind what we
// send from now on. A server that was restarted has given its number to somebody else, who comes from elsewhere. A
// pooler's connections serve others by now.
void end_forerunner(talk& to, const server_facts& before) {
  if (before.connection == 0 || before.by_socket || before.pooled) return;
  const auto number = std::to_string(before.connection);
  const auto still = to.say("select 1 from information_schema.processlist where id = " + number +
                            " and host = " + literal(before.seen_from));
  if (still && !still->empty()) static_cast<void>(to.say("kill " + number));
}

result<int> version_of(talk& to, const sql::object_names& names) {
  const auto got = to.say(sql::filled_in("select version from {schema}.{table_meta}", names));
  if (got) return got->size() == 1 ? std::atoi(got->front().front().c_str()) : 0;
  if (to.number() == no_such_table || to.number() == no_such_database) return 0;
  return got.error();
}

result<void> make_tables(talk& to, const mysql_settings& settings) {
  const std::string remedy = "; have an administrator run: interlock schema mysql | mariadb";
  if (!settings.may_create)
    return failure(errc::unavailable,
                   "there are no lock tables in database " + sql::in_quotes(settings.names.schema, '`') + remedy);
  for (const auto& one : schema_statements(settings.names)) {
    const auto made = to.say(one);
    if (made) continue;
    const auto& why = made.error();
    return why.kind() == errc::denied ? failure(errc::denied, why.message() + remedy) : why;
  }
  return {};
}

result<void> have_tables(talk& to, const mysql_settings& settings) {
  auto version = version_of(to, settings.names);
  // Without any right in the database, nothing says whether it is there.
  if (!version && version.error().kind() == errc::denied) version = 0;
  if (!version) return version.error();
  if (*version == 0) {
    if (auto made = make_tables(to, settings); !made) return made;
    version = version_of(to, settings.names);
    if (!version) return version.error();
  }
  if (*version != schema_version)
    return failure(errc::unsupported, "the lock tables are of version " + std::to_string(*version) +
                                          ", and this interlock knows version " + std::to_string(schema_version));
  return {};
}

}  // namespace

std::string weak_points(const server_facts& found) {
  if (found.flush_log != "1")
    return "innodb_flush_log_at_trx_commit is " + found.flush_log +
           ": the last moments before a crash are forgotten, and with them who holds a lock";
  if (found.log_bin == "ON" && found.sync_binlog != "1")
    return "sync_binlog is " + found.sync_binlog +
           ": what the binary log has not got when the host crashes is taken back, and with it who holds a lock";
  if (found.is_replica) return "it replicates another server, which may know other holders";
  if (found.replicas > 0 && !found.waits_for_replicas)
    return "it has replicas that it does not wait for: a fail-over to one of them may forget who holds a lock";
  return {};
}

server_facts mysql_dial::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

void mysql_dial::examine_hosts(reactor& loop, sql::checks so_far, completion<sql::checks> done) {
  if (settings_.hosts.size() < 2) return done(std::move(so_far));
  const std::lock_guard lock(mutex_);
  examining_.start(
      "interlock-doctor", loop,
      [settings = settings_, primary = facts_.host](const std::atomic<bool>& cancelled) {
        return check_replica_clocks(settings, primary, cancelled);
      },
      [so_far = std::move(so_far), done = std::move(done)](store_check found) mutable {
        so_far.push_back(std::move(found));
        done(std::move(so_far));
      });
}

// The server is asked twice who we are: a pooler would not give us the same session for both.
result<sql::dialler::made> mysql_dial::session_made(talk& to, my_handle begun, server_facts found) {
  const auto again = to.say("select connection_id()");
  if (!again) return again.error();
  if (found.pooled || again->at(0).at(0) != std::to_string(found.connection))
    return failure(errc::unsupported, "there is a pooler in between, and locks of a session need the server itself");
  std::vector<prepared> all;
  for (const auto& [name, text] :
       {std::pair{lock_statement, "select get_lock(?, 0) * connection_id()"},
        std::pair{unlock_statement, "select if(release_lock(?), 1, -1) * cast(connection_id() as signed)"}}) {
    auto made_one = to.prepare(text);
    if (!made_one) return made_one.error();
    all.push_back({name, std::move(*made_one)});
  }
  const auto run = found.run;
  connection_.store(found.connection);
  const std::lock_guard lock(mutex_);
  facts_ = std::move(found);
  return made{std::make_unique<asker>(std::move(begun), std::move(all)), run};
}

// Several hosts are tried in turn until one is found that takes writes.
result<sql::dialler::made> mysql_dial::dial(const std::atomic<bool>& cancelled) {
  if (settings_.hosts.empty()) return dial_one({}, cancelled);
  result<made> out = failure(errc::unavailable);
  for (const auto& host : settings_.hosts) {
    out = dial_one(host, cancelled);
    if (out || cancelled.load()) break;
  }
  return out;
}

result<sql::dialler::made> mysql_dial::dial_one(const std::pair<std::string, std::uint16_t>& host,
                                                const std::atomic<bool>& cancelled) {
  auto begun = begin(settings_, !host.first.empty());
  if (!begun) return begun.error();
  auto* const with = begun->get();
  talk to(with, boot_clock::now() + settings_.connect_timeout, cancelled);
  if (auto up = reach(to, with, settings_, host); !up) return up.error();
  if (auto set = set_up(to, with, settings_.timeout, silence); !set) return set.error();
  const auto before = facts();
  auto found = introduce(to, with, before);
  if (!found) return found.error();
  if (!host.first.empty()) found->host = host_and_port(host);
  if (found->galera)
    return failure(
        errc::unsupported,
        "this is a Galera cluster, each of whose nodes has row locks and a clock of its own: two could grant "
        "the same lock");
  if (found->read_only)
    return failure(errc::unavailable, "the server is read-only: locks need the primary, and this may be a replica");
  if (const auto weak = weak_points(*found); strict_.load() && !weak.empty())
    return failure(errc::unavailable, "this server promises less than the one before: " + weak);
  end_forerunner(to, before);
  if (settings_.sessions) return session_made(to, std::move(*begun), std::move(*found));
  if (auto there = have_tables(to, settings_); !there) return there.error();
  auto ask = to.prepare(sql::filled_in(ask_text, settings_.names));
  if (!ask) return ask.error();
  const auto run = found->run;
  const std::lock_guard lock(mutex_);
  facts_ = std::move(*found);
  return made{std::make_unique<asker>(std::move(*begun), std::move(*ask), settings_.names, origin_), run};
}

}  // namespace interlock::inline v1::mysql_store
