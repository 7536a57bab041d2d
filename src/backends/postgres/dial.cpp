// SPDX-License-Identifier: MIT
#include "backends/postgres/dial.hpp"

#include "backends/postgres/asker.hpp"
#include "backends/postgres/session.sql.hpp"
#include "backends/postgres/survey.sql.hpp"
#include "backends/postgres/talk.hpp"
#include "backends/postgres/wire.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

namespace interlock::inline v1::postgres_store {
namespace {

constexpr milliseconds second_session{1'500};

std::string field(const pg_rows& row, int column) {
  return PQgetisnull(row.get(), 0, column) != 0 ? std::string{} : PQgetvalue(row.get(), 0, column);
}

result<pg_handle> begin(const postgres_settings& settings) {
  std::string password;
  try {
    if (settings.password) password = settings.password();
  } catch (const std::exception& wrong) {
    return failure(errc::denied, std::string("no password: ") + wrong.what());
  }
  std::vector<const char*> keywords, values;
  const auto add = [&](const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  for (const auto& [keyword, value] : settings.parameters) add(keyword.c_str(), value.c_str());
  if (!password.empty()) add("password", password.c_str());
  add(nullptr, nullptr);
  pg_handle out(PQconnectStartParams(keywords.data(), values.data(), 0));
  if (!out) return failure(errc::unavailable, "out of memory");
  PQsetNoticeProcessor(
      out.get(), [](void*, const char*) {}, nullptr);  // the library never prints
  return out;
}

// Settings of the session, whatever those of the user and the database are, and what has to be known of the server.
result<server_facts> introduce(talk& to, const postgres_settings& settings) {
  const auto wait = std::to_string(settings.timeout.count() / 4);
  // Statements about session locks never wait: the server need not set its alarm for each.
  const auto got = to.ask(
      "select current_setting('server_version_num'), pg_postmaster_start_time() || ' ' || "
      "coalesce(host(inet_server_addr()), '') || ' ' || coalesce(inet_server_port()::text, ''), pg_backend_pid(), "
      "(select backend_start from pg_stat_activity where pid = pg_backend_pid()), current_setting('fsync'), "
      "current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "
      "(select count(*) from pg_stat_replication), "
      "set_config('default_transaction_isolation', 'read committed', false), set_config('search_path', 'pg_catalog', "
      "false), set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false), "
      // a dead client's connection, and what it has locked, is not kept for hours
      "set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false), "
      "set_config('tcp_keepalives_count', '3', false), set_config('idle_in_transaction_session_timeout', $2, false), "
      // plans are made once, while the tables are small, and kept when they are not
      "set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), "
      "set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false)",
      {wait, settings.sessions ? "0" : std::to_string(settings.timeout.count())});
  if (!got) return got.error();
  server_facts out;
  out.version = std::atoi(field(*got, 0).c_str());
  out.run = field(*got, 1);
  out.pid = std::atoi(field(*got, 2).c_str());
  out.pid_since = field(*got, 3);
  out.fsync = field(*got, 4);
  out.synchronous_commit = field(*got, 5);
  out.standby_names = field(*got, 6);
  out.standbys = std::atoll(field(*got, 7).c_str());
  if (out.version < 140000)
    return failure(errc::unsupported,
                   "PostgreSQL 14 is the oldest that will do, and this is " + std::to_string(out.version / 10000));
  return out;
}

// What the connection that broke was sent last may still lie in its process's buffer, to be carried out behind what we
// send from now on. Who may not end it relies on what the tables remember. A pooler's sessions serve others by now.
void end_forerunner(talk& to, const server_facts& before, const server_facts& now) {
  if (before.pid == 0 || before.pooled || before.run != now.run) return;
  static_cast<void>(to.ask("select pg_terminate_backend(pid, 1000) from pg_stat_activity where pid = $1::integer and "
                           "backend_start::text = $2",
                           {std::to_string(before.pid), before.pid_since}));
}

result<int> version_of(talk& to, const object_names& names) {
  const auto got = to.say(filled_in("select version from {schema}.{table_meta}", names));
  if (got) return PQntuples(got->get()) == 1 ? std::atoi(field(*got, 0).c_str()) : 0;
  if (to.state() == "42P01" || to.state() == "3F000") return 0;
  return got.error();
}

result<void> have_tables(talk& to, const postgres_settings& settings) {
  auto version = version_of(to, settings.names);
  if (!version) return version.error();
  if (*version == 0) {
    const std::string remedy = "; have an administrator run: interlock schema postgres | psql";
    if (!settings.may_create)
      return failure(errc::unavailable,
                     "there are no lock tables in schema " + sql::in_quotes(settings.names.schema) + remedy);
    // One transaction; whoever does the same at the same time comes after us and finds all of it done.
    const auto made = to.say("select pg_advisory_xact_lock(7883959205594428265);" + schema_text(settings.names));
    if (!made && (to.state() == "42501" || to.state() == "3F000"))
      return failure(errc::denied, made.error().message() + remedy);
    if (!made) return made.error();
    version = version_of(to, settings.names);
    if (!version) return version.error();
  }
  if (*version != schema_version)
    return failure(errc::unsupported, "the lock tables are of version " + std::to_string(*version) +
                                          ", and this interlock knows version " + std::to_string(schema_version));
  return {};
}

result<void> prepare_tables(talk& to, const postgres_settings& settings) {
  const auto& names = settings.names;
  if (auto there = have_tables(to, settings); !there) return there;
  constexpr Oid bytea = 17, int8 = 20;
  if (auto done = to.prepare(ask_statement, filled_in(ask_text, names), ask_types()); !done) return done;
  if (auto done = to.prepare(survey_statement, filled_in(embedded::postgres_survey_sql, names), {bytea, bytea, int8});
      !done)
    return done;
  return to.prepare(tidy_statement, filled_in("select {schema}.{table_tidy}()::integer::text", names), {});
}

// A pooler that lends sessions for a transaction at a time lends the one we have just used to the next who comes.
result<void> check_own_session(const postgres_settings& settings, const server_facts& ours,
                               const std::atomic<bool>& cancelled) {
  auto begun = begin(settings);
  if (!begun) return begun.error();
  talk to(begun->get(), boot_clock::now() + std::min(settings.connect_timeout, second_session), cancelled);
  if (auto up = to.connect(); !up) return {};  // no session is left for a second client: ours is ours
  const auto got = to.ask("select pg_backend_pid()", {});
  if (got && std::atoi(field(*got, 0).c_str()) == ours.pid)
    return failure(errc::unsupported,
                   "the pooler in between gives each transaction another session (two clients were served by process " +
                       std::to_string(ours.pid) + "): session locks need a session of their own");
  return {};
}

result<void> prepare_sessions(talk& to, const postgres_settings& settings, const server_facts& facts,
                              const std::atomic<bool>& cancelled) {
  if (settings.sticky_pooler)
    if (auto own = check_own_session(settings, facts, cancelled); !own) return own;
  std::string text(embedded::postgres_session_sql);
  constexpr std::string_view mark = "{whose}";
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark))
    text.replace(at, mark.size(), settings.sticky_pooler ? ", pg_backend_pid()" : "");
  const auto done = to.say(text);
  if (!done) return done.error();
  return {};
}

}  // namespace

std::string weak_points(const server_facts& found) {
  if (found.fsync != "on") return "fsync is off: a crash of the server's host may forget who holds a lock";
  if (found.synchronous_commit == "off")
    return "synchronous_commit is off: the last moments before a crash are forgotten";
  if (found.standbys > 0 && (found.standby_names.empty() || found.synchronous_commit == "local"))
    return "it has standbys that it does not wait for: a fail-over to one of them may forget who holds a lock";
  return {};
}

server_facts postgres_dial::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

result<sql::dialler::made> postgres_dial::dial(const std::atomic<bool>& cancelled) {
  auto begun = begin(settings_);
  if (!begun) return begun.error();
  talk to(begun->get(), boot_clock::now() + settings_.connect_timeout, cancelled);
  if (auto up = to.connect(); !up) return up.error();
  auto found = introduce(to, settings_);
  if (!found) return found.error();
  found->pooled = PQbackendPID(begun->get()) != found->pid;  // poolers make these numbers up for their clients
  if (found->pooled && !settings_.sticky_pooler)
    return failure(
        errc::unsupported,
        "there is a pooler in between: connect to the server itself, or, if the pooler leaves each client its "
        "session for as long as it is connected, say pooler=session");
  if (const auto weak = weak_points(*found); strict_.load() && !weak.empty())
    return failure(errc::unavailable, "this server promises less than the one before: " + weak);
  end_forerunner(to, facts(), *found);
  if (auto ready =
          settings_.sessions ? prepare_sessions(to, settings_, *found, cancelled) : prepare_tables(to, settings_);
      !ready)
    return ready.error();
  if (!channel_.empty())
    if (auto listens = to.say("listen " + sql::in_quotes(channel_)); !listens) return listens.error();
  const auto run = found->run;
  const std::lock_guard lock(mutex_);
  pid_.store(found->pid);
  facts_ = std::move(*found);
  auto with = std::make_unique<asker>(std::move(*begun), channel_, origin_);
  if (settings_.sessions) with->be_patient();
  return made{std::move(with), run};
}

}  // namespace interlock::inline v1::postgres_store
