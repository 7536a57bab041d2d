// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/doctor.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/moved_clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

/// What `interlock doctor` sees of MariaDB, and what is refused from the start.
namespace interlock {
namespace {

using namespace test_support;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(mariadb_doctor, finds_a_good_server_good) {
  const mariadb_server server({.durable = true, .arguments = {"--transaction-isolation=SERIALIZABLE"}});
  const client locks(server.unix_url());
  const auto held = locks.acquire("a");
  EXPECT_THAT(diagnosis(locks, "server"), StartsWith("ok: MariaDB 1"));
  for (const auto* check :
       {"durability", "replication", "isolation", "clock", "pooler", "encryption", "connections", "tables", "schema"})
    EXPECT_THAT(diagnosis(locks, check), StartsWith("ok: ")) << check;
  EXPECT_EQ(diagnosis(locks, "binary log"), "no such check");
}

TEST(mariadb_doctor, sees_what_is_set_up_badly) {
  const moved_clock clock(1h);
  const mariadb_server server({.arguments = {"--max-connections=10"}, .environment = clock.environment()});
  const client locks(server.url());
  EXPECT_THAT(diagnosis(locks, "durability"), HasSubstr("warn: innodb_flush_log_at_trx_commit 2"));
  EXPECT_THAT(diagnosis(locks, "clock"), HasSubstr("warn: the server's differs by 3"));
  EXPECT_THAT(diagnosis(locks, "encryption"), StartsWith("warn: none"));
  EXPECT_THAT(diagnosis(locks, "connections"), StartsWith("warn: "));
  const auto held = locks.acquire("old");
  server.command("update interlock.il_claim set ends = ends - 2 * 3600 * 1000000");
  EXPECT_THAT(diagnosis(locks, "tables"), HasSubstr("1 claims ended more than an hour ago"));
  server.command("alter table interlock.il_meta engine = MyISAM");
  EXPECT_THAT(diagnosis(locks, "schema"), StartsWith("fail: not all tables are InnoDB's"));
}

TEST(mariadb_doctor, tells_replicas_that_are_waited_for_from_others) {
  const mariadb_server primary({.arguments = {"--log-bin=log", "--server-id=1", "--binlog-format=STATEMENT"}});
  EXPECT_THAT(diagnosis(primary.url(), "replication"), StartsWith("ok: no replicas"));
  EXPECT_THAT(diagnosis(primary.url(), "durability"), StartsWith("warn: "));
  EXPECT_THAT(diagnosis(primary.url(), "binary log"), StartsWith("fail: binlog_format is STATEMENT"));
  primary.command("set global binlog_format = 'ROW'");
  const mariadb_server replica({.arguments = {"--server-id=2"}});
  replica.follow(primary);
  ASSERT_TRUE(eventually(
      [&] {
        return primary.value("select variable_value from information_schema.global_status where variable_name = "
                             "'Slaves_connected'") == "1";
      },
      20s));
  EXPECT_THAT(diagnosis(primary.url(), "replication"), StartsWith("warn: 1 replicas, not waited for"));
  EXPECT_THAT(diagnosis(replica.url("schema=elsewhere"), "replication"), StartsWith("warn: this server replicates"));
  replica.command("stop slave; set global rpl_semi_sync_slave_enabled = on; start slave");
  primary.command("set global rpl_semi_sync_master_enabled = on");
  ASSERT_TRUE(eventually(
      [&] {
        return primary.value("select variable_value from information_schema.global_status where variable_name = "
                             "'Rpl_semi_sync_master_clients'") == "1";
      },
      20s));
  EXPECT_THAT(diagnosis(primary.url(), "replication"), StartsWith("ok: 1 replicas, commits wait"));
}

// A primary cannot tell what its replicas' clocks show.
TEST(mariadb_doctor, asks_every_host_of_the_url_what_its_clock_shows) {
  const mariadb_server primary;
  moved_clock clock;
  mariadb_server replica({.arguments = {"--read-only"}, .environment = clock.environment()});
  const auto place = [](const mariadb_server& of) { return "127.0.0.1:" + std::to_string(of.port()); };
  const client locks("mysql://root@" + place(replica) + "," + place(primary) + "/interlock");
  EXPECT_THAT(diagnosis(locks, "replica clocks"), StartsWith("ok: "));
  clock.move(-1h);
  EXPECT_THAT(diagnosis(locks, "replica clocks"), StartsWith("ok: ")) << "behind, it makes waiters wait";
  clock.move(1h);
  EXPECT_THAT(diagnosis(locks, "replica clocks"), StartsWith("warn: " + place(replica) + " is 3"));
  EXPECT_THAT(diagnosis(locks, "clock"), StartsWith("ok: ")) << "that of the primary";
  replica.kill();
  EXPECT_THAT(diagnosis(locks, "replica clocks"), StartsWith("warn: " + place(replica) + " could not be asked"));
  EXPECT_EQ(diagnosis(primary.url(), "replica clocks"), "no such check");
}

// Without a provider it replicates nothing, but it is set up to: that is what we go by.
TEST(mariadb_galera, is_refused_in_both_modes) {
  const mariadb_server node({.arguments = {"--wsrep-on=ON", "--wsrep-provider=none", "--binlog-format=ROW"}});
  for (const auto* mode : {"", "mode=session"}) {
    const auto refused = client::connect(node.url(mode));
    ASSERT_FALSE(refused) << mode;
    EXPECT_EQ(refused.error().kind(), errc::unsupported);
    EXPECT_THAT(refused.error().message(), HasSubstr("Galera"));
  }
}

}  // namespace
}  // namespace interlock

#endif
