// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/doctor.hpp"
#include "support/eventually.hpp"
#include "support/moved_clock.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

/// What `interlock doctor` sees of PostgreSQL.
namespace interlock {
namespace {

using namespace test_support;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(postgres_doctor, finds_a_good_server_good) {
  const postgres_server server({.durable = true, .settings = {"default_transaction_isolation=serializable"}});
  const client locks(server.unix_url());
  const auto held = locks.acquire("a");
  EXPECT_THAT(diagnosis(locks, "server"), StartsWith("ok: PostgreSQL 1"));
  for (const auto* check :
       {"durability", "standbys", "isolation", "clock", "pooler", "encryption", "connections", "tables"})
    EXPECT_THAT(diagnosis(locks, check), StartsWith("ok: ")) << check;
  EXPECT_EQ(diagnosis(locks, "standby clocks"), "no such check");
}

TEST(postgres_doctor, sees_what_is_set_up_badly) {
  const moved_clock clock(1h);
  const postgres_server server({.settings = {"max_connections=12"}, .environment = clock.environment()});
  const client locks(server.url());
  EXPECT_THAT(diagnosis(locks, "durability"), HasSubstr("warn: fsync off"));
  EXPECT_THAT(diagnosis(locks, "clock"), HasSubstr("warn: the server's differs by 3"));
  EXPECT_THAT(diagnosis(locks, "encryption"), StartsWith("warn: none"));
  const client more(server.url()), another(server.url());
  EXPECT_THAT(diagnosis(locks, "connections"), StartsWith("warn: "));
  const auto held = locks.acquire("old");
  server.command("update interlock.il_claim set ends = ends - interval '2 hours'");
  EXPECT_THAT(diagnosis(locks, "tables"), HasSubstr("1 claims ended more than an hour ago"));
  EXPECT_THAT(diagnosis(server.url("mode=session"), "sessions"), StartsWith("warn: "));
}

TEST(postgres_doctor, tells_standbys_that_are_waited_for_from_others_and_whose_clock_is_ahead) {
  const postgres_server primary({.durable = true});
  const client locks(primary.url());
  moved_clock clock;
  const postgres_server standby({.settings = {"wal_receiver_status_interval=1s"},
                                 .copy_of = primary.conninfo(),
                                 .environment = clock.environment()});
  ASSERT_TRUE(eventually([&] { return diagnosis(locks, "standbys") != "ok: none connected"; }, 20s));
  EXPECT_THAT(diagnosis(locks, "standbys"), StartsWith("warn: 1, not waited for"));
  EXPECT_THAT(diagnosis(locks, "standby clocks"), StartsWith("ok: "));
  clock.move(1h);
  EXPECT_TRUE(eventually([&] { return diagnosis(locks, "standby clocks").starts_with("warn: one is 3"); }, 20s))
      << diagnosis(locks, "standby clocks");
  clock.move(0h);
  primary.command("alter system set synchronous_standby_names = '*'");
  primary.command("select pg_reload_conf()");
  EXPECT_TRUE(eventually([&] { return diagnosis(locks, "standbys").starts_with("ok: 1, commits wait"); }, 20s))
      << diagnosis(locks, "standbys");
}

TEST(postgres_doctor, is_told_of_a_pooler_where_others_would_be_too) {
  const postgres_server server;
  const pgbouncer pooler(server, "transaction");
  for (const auto* mode : {"", "mode=session"}) {
    const auto refused = client::connect(pooler.url(mode));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), errc::unsupported);
    EXPECT_THAT(refused.error().message(), HasSubstr("pooler"));
  }
  const pgbouncer by_session(server, "session");
  for (const auto* mode : {"pooler=session", "pooler=session&mode=session"})
    EXPECT_THAT(diagnosis(by_session.url(mode), "pooler"), StartsWith("ok: one in between"));
}

}  // namespace
}  // namespace interlock

#endif
