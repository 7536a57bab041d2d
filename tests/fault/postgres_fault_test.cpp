// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/postgres_server.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mount.h>

#include <chrono>
#include <filesystem>
#include <vector>

/// What can happen to a PostgreSQL server, beside what database_fault_test.cpp has for all.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::postgres_server;

struct postgres_fault : ::testing::Test {
  postgres_server server{};
};

TEST_F(postgres_fault, a_standby_is_refused_and_with_several_hosts_the_primary_is_found) {
  const client locks(server.url());
  const postgres_server standby({.copy_of = server.conninfo()});
  const auto refused = client::connect(standby.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::unavailable) << refused.error().message();
  const client both("postgres://postgres@127.0.0.1:" + std::to_string(standby.port()) +
                    ",127.0.0.1:" + std::to_string(server.port()) + "/postgres");
  auto held = both.acquire("a");
  EXPECT_FALSE(locks.try_acquire("a").has_value());
}

TEST(postgres_promise, is_strict_only_where_commits_are_durable_and_standbys_waited_for) {
  const postgres_server server({.durable = true});
  const client locks(server.url());
  EXPECT_EQ(locks.traits().guarantee, guarantee::strict);
  server.command("alter system set synchronous_commit = off");
  server.command("select pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return server.value("show synchronous_commit") == "off"; }));
  EXPECT_EQ(client(server.url()).traits().guarantee, guarantee::best_effort);
  const auto refused = client::connect(server.url("require=strict"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("synchronous_commit"), std::string::npos) << refused.error().message();
  server.command("alter system reset synchronous_commit");
  server.command("select pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return server.value("show synchronous_commit") == "on"; }));
  const postgres_server standby({.copy_of = server.conninfo()});
  ASSERT_TRUE(eventually([&] { return server.value("select count(*) from pg_stat_replication") == "1"; }));
  const client watched(server.url());
  EXPECT_EQ(watched.traits().guarantee, guarantee::best_effort);
  EXPECT_NE(watched.traits().caveat.find("standbys"), std::string::npos);
}

// A process that dies by a signal takes all others along, and the server recovers.
TEST(postgres_crash, of_the_process_that_serves_a_holder_costs_no_lock) {
  const postgres_server server({.durable = true});
  const client locks(server.url("require=strict"));
  auto held = locks.acquire("a", lease_of(10s));
  const auto pid = std::stoi(server.value("select pid from pg_stat_activity where application_name = 'interlock'"));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return client::connect(server.url()).has_value(); }, 20s));
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 9s));
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
  EXPECT_TRUE(eventually([&] { return held.release().has_value(); }, 9s));
}

TEST_F(postgres_fault, a_standby_left_alone_grants_nothing_until_it_is_promoted) {
  const postgres_server standby({.copy_of = server.conninfo()});
  const client locks("postgres://postgres@127.0.0.1:" + std::to_string(server.port()) +
                     ",127.0.0.1:" + std::to_string(standby.port()) + "/postgres?patience=300ms");
  const auto held = locks.acquire("a", lease_of(1s));
  const auto caught_up = [&] { return standby.value("select count(*) from interlock.il_claim") == "1"; };
  ASSERT_TRUE(eventually(caught_up, 10s));
  server.kill();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  const auto reply = locks.attempt("b");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  standby.command("select pg_promote()");
  const auto granted = [&] { return locks.attempt("a", {.wait = 1s}).has_value(); };
  EXPECT_TRUE(eventually(granted, 20s));
}

TEST(postgres_full_disk, is_unavailable_and_what_is_held_can_be_released) {
  const test_support::temporary_folder folder("postgres-disk");
  const auto disk = folder.path() / "disk";
  std::filesystem::create_directory(disk);
  const auto* const owner = getpwnam("postgres");
  const auto options = "size=256k,mode=0700,uid=" + std::to_string(owner == nullptr ? 0 : owner->pw_uid);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, options.c_str()) != 0) GTEST_SKIP() << "cannot mount";
  {
    const postgres_server server;
    const client locks(server.url());
    server.command("create tablespace small location '" + disk.string() + "'");
    server.command("alter table interlock.il_claim set tablespace small");
    std::vector<guard> held;
    result<guard> last = failure(errc::internal);
    for (int i = 0; i < 4000; ++i) {
      last = locks.attempt("disk/" + std::to_string(i));
      if (!last) break;
      held.push_back(std::move(*last));
    }
    ASSERT_FALSE(last) << "the disk is not full";
    EXPECT_EQ(last.error(), errc::unavailable) << last.error().message();
    ASSERT_FALSE(held.empty());
    EXPECT_TRUE(held.back().valid());
    EXPECT_TRUE(held.back().release());
    held.clear();
    server.command("alter table interlock.il_claim set tablespace pg_default");
    EXPECT_TRUE(eventually([&] { return locks.try_acquire("after").has_value(); }, 10s));
    server.command("drop tablespace small");
  }
  EXPECT_EQ(umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace interlock

#endif
