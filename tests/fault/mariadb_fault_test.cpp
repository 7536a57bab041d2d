// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/mariadb_server.hpp"
#include "support/temporary_folder.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

/// What can happen to a MariaDB server, beside what database_fault_test.cpp has for all.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::mariadb_peek;
using test_support::mariadb_server;

struct mariadb_fault : ::testing::Test {
  mariadb_server server{};
};

TEST_F(mariadb_fault, a_server_that_has_become_read_only_grants_nothing_more) {
  const client locks(server.url("patience=300ms"));
  auto held = locks.acquire("a", lease_of(1s));
  server.command("set global read_only = 1");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  const auto reply = locks.attempt("b");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), errc::unavailable) << reply.error().message();
  const auto refused = client::connect(server.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::unavailable);
  EXPECT_NE(refused.error().message().find("read-only"), std::string::npos) << refused.error().message();
  server.command("set global read_only = 0");
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST_F(mariadb_fault, with_several_hosts_the_one_that_takes_writes_is_found) {
  const mariadb_server replica({.arguments = {"--read-only"}});
  const client both("mysql://root@127.0.0.1:" + std::to_string(replica.port()) +
                    ",127.0.0.1:" + std::to_string(server.port()) + "/interlock");
  auto held = both.acquire("a");
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
}

// Nobody is woken here: they ask, all with one query, and the longer they have waited the more seldom.
TEST_F(mariadb_fault, many_waiters_of_a_client_ask_as_often_as_one) {
  const client locks(server.url()), other(server.url());
  std::vector<guard> held;
  std::stop_source enough;
  std::vector<pending<guard>> waiting;
  for (int i = 0; i < 50; ++i) {
    held.push_back(other.acquire(std::to_string(i)));
    waiting.push_back(locks.async_acquire(std::to_string(i), {}, enough.get_token()));
  }
  ASSERT_TRUE(eventually([&] { return server.value("select count(*) from interlock.il_claim") == "100"; }, 10s));
  std::this_thread::sleep_for(1s);
  const auto asked = [&] {
    return std::stoll(server.value("select variable_value from information_schema.global_status where variable_name = "
                                   "'Questions'"));
  };
  const auto before = asked();
  std::this_thread::sleep_for(2s);
  const auto queries = asked() - before;
  EXPECT_GT(queries, 5);
  EXPECT_LT(queries, 100) << "one each would be several hundred";
  enough.request_stop();
  for (auto& one : waiting) EXPECT_FALSE(one.get_result());
}

TEST(mariadb_fail_over, to_a_replica_grants_nothing_until_that_takes_writes_and_tokens_rise) {
  mariadb_server primary({.arguments = {"--log-bin=log", "--server-id=1", "--binlog-format=ROW"}});
  const mariadb_server replica({.arguments = {"--server-id=2", "--read-only"}});
  replica.follow(primary);
  const client locks("mysql://root@127.0.0.1:" + std::to_string(primary.port()) +
                     ",127.0.0.1:" + std::to_string(replica.port()) + "/interlock?patience=300ms");
  const auto held = locks.acquire("a", lease_of(2s));
  const auto caught_up = [&] { return replica.value("select count(*) from interlock.il_claim") == "1"; };
  ASSERT_TRUE(eventually(caught_up, 10s));
  primary.kill();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 5s));
  const auto reply = locks.attempt("b");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  replica.command("stop slave; set global read_only = 0");
  result<guard> next = failure(errc::internal);
  EXPECT_TRUE(eventually([&] { return (next = locks.attempt("a", {.wait = 1s})).has_value(); }, 20s));
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), held.token());
}

TEST(mariadb_promise, is_strict_only_where_commits_are_durable) {
  const mariadb_server server({.durable = true});
  EXPECT_EQ(client(server.url()).traits().guarantee, guarantee::strict);
  server.command("set global innodb_flush_log_at_trx_commit = 0");
  EXPECT_EQ(client(server.url()).traits().guarantee, guarantee::best_effort);
  const auto refused = client::connect(server.url("require=strict"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("innodb_flush_log_at_trx_commit"), std::string::npos)
      << refused.error().message();
}

// A session that says nothing while its leases are long is not ended, however short the server's own patience is.
TEST(mariadb_wait_timeout, of_the_server_ends_no_session_of_ours) {
  const mariadb_server server({.arguments = {"--wait-timeout=1", "--interactive-timeout=1"}});
  const auto number = [&] {
    return server.value("select group_concat(id) from information_schema.processlist where host like '127.%'");
  };
  const client locks(server.url());
  const auto held = locks.acquire("a", lease_of(60s));
  const auto before = number();
  mariadb_peek other(server.socket());
  std::this_thread::sleep_for(2500ms);
  EXPECT_THROW(other.command("select 1"), std::runtime_error) << "nobody else is kept so long";
  EXPECT_EQ(number(), before);
  EXPECT_EQ(held.state(), lock_state::held);
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
}

// InnoDB says that a table is full, and sometimes gives itself up while it rolls back: what is held survives both.
TEST(mariadb_full_disk, grants_nothing_more_and_costs_no_lock) {
  const test_support::temporary_folder folder("mariadb-disk");
  const auto data = folder.path() / "data", disk = data / "interlock";
  mariadb_server server({.folder = data.string()});
  server.command("create database interlock");
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=600k") != 0) GTEST_SKIP() << "cannot mount";
  {
    const client locks(server.url("patience=500ms"));
    const auto name = [](int i) { return "disk/" + std::to_string(i) + std::string(800, 'x'); };
    std::vector<guard> held;
    result<guard> last = failure(errc::internal);
    for (int i = 0; i < 2'000; ++i) {
      last = locks.attempt(name(i), lease_of(60s));
      if (!last) break;
      held.push_back(std::move(*last));
    }
    EXPECT_FALSE(last) << "the disk is not full";
    if (!last) {
      EXPECT_TRUE(last.error() == errc::unavailable || last.error() == errc::indeterminate) << last.error().message();
    }
    EXPECT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
    server.restart();
    EXPECT_TRUE(eventually([&] { return locks.attempt("after", {.wait = 0ms}).has_value(); }, 20s));
    EXPECT_FALSE(held.empty());
    if (!held.empty()) {
      EXPECT_TRUE(held.front().valid());
      EXPECT_FALSE(client(server.url()).try_acquire(name(0)).has_value());
    }
  }
  server.kill();
  EXPECT_EQ(umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace interlock

#endif
