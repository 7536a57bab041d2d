// SPDX-License-Identifier: MIT
#pragma once

#ifdef INTERLOCK_WITH_POSTGRES
#include "support/postgres_server.hpp"
#endif
#ifdef INTERLOCK_WITH_MYSQL
#include "support/mariadb_server.hpp"
#endif

#include <gtest/gtest.h>

#include <string>

namespace interlock::test_support {

/// What tests of lock tables have to know of a database beside its server.
#ifdef INTERLOCK_WITH_POSTGRES
struct postgres_under_test {
  using server = postgres_server;
  using peek = postgres_peek;
  static constexpr auto name = "postgres";
  static constexpr auto schema_verb = "interlock schema postgres";
  static server durable() { return server({.durable = true}); }
  static server with_tls(const certificate& shown) { return server({.shown = &shown}); }
  static server quick_to_see_deadlocks() { return server({.settings = {"deadlock_timeout=5ms"}}); }
  static peek beside(const server& of) { return peek(of.conninfo()); }
  static void end_sessions(const server& of) {
    of.command("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'interlock'");
  }
  static constexpr auto drop_tables = "set client_min_messages = error; drop schema interlock cascade";
  static constexpr auto forget_names =
      "update interlock.il_name set used = used - interval '2 days'; select interlock.il_tidy()";
  static constexpr auto let_all_end = "update interlock.il_claim set ends = ends - interval '2 days'; "
                                      "update interlock.il_name set used = used - interval '2 days'";
  static constexpr auto client_program = "psql -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -U postgres -p ";
  static constexpr auto begin = "begin; ";
  static constexpr auto make_rival = "select 1";
  static constexpr auto rival =
      "begin; select 1 from interlock.il_name where name = 'd' for update; select pg_sleep(0.002); "
      "select 1 from interlock.il_name where name = 'a' for update; commit";
  static bool saw_deadlocks(const server& of) {
    return of.value("select deadlocks > 0 from pg_stat_database where datname = 'postgres'") == "t";
  }
  static constexpr auto make_user = "create role app login; revoke create on schema public from public";
  /// Exactly the rights that docs/backends/postgres.md names.
  static constexpr auto grant =
      "grant usage on schema interlock to app; grant select, insert, update, delete on all tables in schema interlock "
      "to app; grant execute on all functions in schema interlock to app";
};
#endif

#ifdef INTERLOCK_WITH_MYSQL
struct mariadb_under_test {
  using server = mariadb_server;
  using peek = mariadb_peek;
  static constexpr auto name = "mariadb";
  static constexpr auto schema_verb = "interlock schema mysql";
  static server durable() { return server({.durable = true}); }
  static server with_tls(const certificate& shown) { return server({.shown = &shown}); }
  static server quick_to_see_deadlocks() { return server(); }
  static peek beside(const server& of) { return peek(of.socket()); }
  static void end_sessions(const server& of) { of.end_sessions(); }
  static constexpr auto drop_tables = "drop database interlock";
  static constexpr auto forget_names =
      "update interlock.il_name set used = used - 2 * 86400000000; call interlock.il_tidy()";
  static constexpr auto let_all_end = "update interlock.il_claim set ends = ends - 2 * 86400000000; "
                                      "update interlock.il_name set used = used - 2 * 86400000000";
  static constexpr auto client_program = "mariadb --no-defaults -h 127.0.0.1 -u root -P ";
  static constexpr auto begin = "start transaction; ";
  /// Whose transaction has changed more is dearer to the server: it rolls us back.
  static constexpr auto make_rival = "create table interlock.bulk(x int) engine = InnoDB; "
                                     "insert into interlock.bulk values(1), (2), (3), (4), (5), (6), (7), (8)";
  static constexpr auto rival = "start transaction; update interlock.bulk set x = x + 1; "
                                "select 1 from interlock.il_name where name = 'd' for update; do sleep(0.003); "
                                "select 1 from interlock.il_name where name = 'a' for update; commit";
  static bool saw_deadlocks(const server& of) {
    return of.value("select variable_value > 0 from information_schema.global_status where variable_name = "
                    "'Innodb_deadlocks'") == "1";
  }
  static constexpr auto make_user = "create user app@'%'";
  /// Exactly the rights that docs/backends/mysql.md names.
  static constexpr auto grant = "grant select, insert, update, delete, execute on interlock.* to app@'%'";
};
#endif

using databases_under_test = ::testing::Types<
#ifdef INTERLOCK_WITH_POSTGRES
    postgres_under_test
#endif
#if defined(INTERLOCK_WITH_POSTGRES) && defined(INTERLOCK_WITH_MYSQL)
    ,
#endif
#ifdef INTERLOCK_WITH_MYSQL
    mariadb_under_test
#endif
    >;
/// For the names of typed tests.
struct named_after_database {
  template <class Database>
  static std::string GetName(int) {
    return Database::name;
  }
};

}  // namespace interlock::test_support
