// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

/// What can happen to a MariaDB server, its sessions, and the way to it.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::mariadb_peek;
using test_support::mariadb_server;
using test_support::tcp_proxy;

acquire_options lease_of(milliseconds lease) {
  acquire_options out;
  out.lease = lease;
  return out;
}

struct mariadb_fault : ::testing::Test {
  mariadb_server server{};
};

TEST_F(mariadb_fault, a_killed_session_costs_no_lock) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(2s));
  for (int i = 0; i < 5; ++i) {
    server.end_sessions();
    std::this_thread::sleep_for(100ms);
  }
  std::this_thread::sleep_for(2s);
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.state(), lock_state::held);
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
  EXPECT_TRUE(held.release());
}

TEST_F(mariadb_fault, a_waiter_whose_session_was_killed_is_granted_all_the_same) {
  const client locks(server.url()), other(server.url());
  auto held = locks.acquire("a");
  std::jthread waiter([&] { EXPECT_TRUE(other.acquire("a").valid()); });
  ASSERT_TRUE(eventually([&] { return server.value("select count(*) from interlock.il_claim") == "2"; }));
  server.end_sessions();
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }, 10s));
}

TEST(mariadb_fault_kept, a_restart_of_a_durable_server_keeps_the_lock_and_tokens_rise) {
  mariadb_server server({.durable = true});
  const client locks(server.url("require=strict"));
  auto held = locks.acquire("a", lease_of(20s));
  const auto token = held.token();
  server.restart();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 15s));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }, 15s));
  EXPECT_GT(locks.acquire("a").token(), token);
}

TEST_F(mariadb_fault, a_server_that_is_gone_is_unavailable_or_unknown_but_never_busy) {
  const client locks(server.url("patience=300ms"));
  server.kill();
  const auto reply = locks.attempt("a");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
}

TEST_F(mariadb_fault, a_frozen_server_makes_a_holder_lose_its_lock_in_time) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(1s));
  server.freeze();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_FALSE(held.valid());
  server.thaw();
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST_F(mariadb_fault, a_silent_partition_is_a_loss_for_the_holder_before_another_is_granted) {
  tcp_proxy network(server.port());
  const client cut_off(mariadb_server::url_at(network.port()));
  const client other(server.url());
  auto held = cut_off.acquire("a", lease_of(1500ms));
  network.cut();
  acquire_options patient;
  patient.wait = 10s;
  const auto next = other.acquire("a", patient);
  EXPECT_FALSE(held.valid());
  EXPECT_GT(next.token(), held.token());
  network.heal();
  EXPECT_TRUE(eventually([&] { return cut_off.try_acquire("b").has_value(); }, 15s));
}

TEST_F(mariadb_fault, a_lost_reply_to_a_grant_leads_to_one_owner) {
  tcp_proxy network(server.port());
  const client locks(mariadb_server::url_at(network.port()));
  for (int i = 0; i < 3; ++i) {
    network.lose_next_reply();
    auto reply = locks.attempt("a", {.wait = 5s});
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(server.value("select count(*) from interlock.il_claim where state = 'h'"), "1");
    ASSERT_TRUE(reply->release());
  }
  EXPECT_GT(network.seen().replies_lost, 0U);
}

// What was sent on the old connection arrives after the undo that was sent on the new one.
TEST_F(mariadb_fault, a_request_that_arrives_late_leaves_nothing_behind) {
  tcp_proxy network(server.port());
  const client locks(mariadb_server::url_at(network.port(), "patience=300ms&timeout=600ms"));
  static_cast<void>(locks.acquire("warm"));
  network.strand();
  const auto reply = locks.attempt("a");
  EXPECT_FALSE(reply);
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("b").has_value(); }, 10s));
  network.heal();
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(server.value("select count(*) from interlock.il_claim where state in ('h', 'w') and name = 'a'"), "0");
}

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

TEST_F(mariadb_fault, tables_that_were_dropped_are_a_lost_lock_and_are_made_again) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(1s));
  server.command("drop database interlock");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST_F(mariadb_fault, a_deleted_row_is_a_lost_lock_and_is_not_revived) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(900ms));
  server.command("delete from interlock.il_claim");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  const auto next = locks.acquire("a");
  EXPECT_GT(next.token(), held.token());
}

// Sixty-four contenders, some of them in one message, on names that they all want, while somebody takes rows in the
// worst order and is dearer to the server than we: it rolls us back, and nobody is told.
TEST_F(mariadb_fault, a_storm_of_contenders_sees_no_deadlock) {
  constexpr int clients = 8, threads = 8, rounds = 3;
  const std::vector<std::string> names{"a", "b", "c", "d"};
  { const client first(server.url()); }
  server.command("create table interlock.bulk(x int) engine = InnoDB; "
                 "insert into interlock.bulk values(1), (2), (3), (4), (5), (6), (7), (8)");
  std::atomic<int> granted{0}, failed{0}, inside{0}, overlaps{0};
  std::atomic<bool> stop{false};
  std::jthread vandal([&] {
    mariadb_peek sql(server.socket());
    while (!stop) {
      try {
        sql.command("start transaction; update interlock.bulk set x = x + 1; "
                    "select 1 from interlock.il_name where name = 'd' for update; do sleep(0.003); "
                    "select 1 from interlock.il_name where name = 'a' for update; commit");
      } catch (const std::runtime_error&) {
        sql.command("rollback");
      }
    }
  });
  {
    std::vector<std::unique_ptr<client>> all;
    for (int i = 0; i < clients; ++i) all.push_back(std::make_unique<client>(server.url()));
    std::vector<std::jthread> workers;
    for (int i = 0; i < clients * threads; ++i)
      workers.emplace_back([&, i] {
        for (int round = 0; round < rounds; ++round) {
          const auto& name = names[static_cast<std::size_t>(i + round) % names.size()];
          auto reply = all[static_cast<std::size_t>(i % clients)]->attempt(name, {.wait = 60s});
          if (!reply) {
            ++failed;
            ADD_FAILURE() << reply.error().message();
            continue;
          }
          ++granted;
          if (name == "a" && inside++ != 0) ++overlaps;
          if (name == "a") --inside;
        }
      });
  }
  stop = true;
  EXPECT_EQ(granted, clients * threads * rounds);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(overlaps, 0);
  EXPECT_NE(server.value("select variable_value from information_schema.global_status "
                         "where variable_name = 'Innodb_deadlocks'"),
            "0")
      << "nothing was shown";
}

TEST_F(mariadb_fault, a_row_that_somebody_keeps_locked_is_unavailable_and_others_go_on) {
  const client locks(server.url("patience=700ms&timeout=2s"));
  static_cast<void>(locks.acquire("stuck").release());
  mariadb_peek sql(server.socket());
  sql.command("start transaction; select 1 from interlock.il_name where name = 'stuck' for update");
  const auto reply = locks.attempt("stuck");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  const client other(server.url());
  EXPECT_TRUE(other.try_acquire("free").has_value());
  sql.command("rollback");
  EXPECT_TRUE(eventually([&] { return other.try_acquire("stuck").has_value(); }, 10s));
}

TEST_F(mariadb_fault, hostile_names_are_different_locks) {
  const client locks(server.url());
  std::vector<guard> held;
  const std::vector<std::string> names{"a",
                                       "A",
                                       "a ",
                                       " a",
                                       "a'; drop table x; --",
                                       "\"a\"",
                                       "`a`",
                                       "a\\",
                                       "%",
                                       "?",
                                       "caf\u00e9",
                                       "cafe\u0301",
                                       "CAFE",
                                       "\U0001F512",
                                       "{schema}",
                                       std::string(1024, 'x'),
                                       std::string(1023, 'x') + "y"};
  for (const auto& name : names) held.push_back(locks.acquire(name));
  const client other(server.url());
  for (const auto& name : names) EXPECT_FALSE(other.try_acquire(name).has_value()) << name;
  EXPECT_EQ(other.survey({}).size(), names.size());
}

TEST_F(mariadb_fault, without_the_right_to_create_the_tables_it_says_what_to_run) {
  server.command("create user app@'%'");
  const auto refused = client::connect(mariadb_server::url_at(server.port(), {}, "app"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::denied) << refused.error().message();
  EXPECT_NE(refused.error().message().find("interlock schema mysql"), std::string::npos) << refused.error().message();
  const auto missing = client::connect(server.url("create=no"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), errc::unavailable);
  { const client administrator(server.url()); }
  // Exactly the rights that docs/backends/mysql.md names.
  server.command("grant select, insert, update, delete, execute on interlock.* to app@'%'");
  const client locks(mariadb_server::url_at(server.port(), {}, "app"));
  EXPECT_TRUE(locks.acquire("a").valid());
}

TEST_F(mariadb_fault, tables_of_a_later_version_are_left_alone) {
  { const client first(server.url()); }
  server.command("update interlock.il_meta set version = 2");
  const auto refused = client::connect(server.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::unsupported);
}

TEST_F(mariadb_fault, forgotten_names_do_not_take_their_tokens_along) {
  const client locks(server.url());
  auto first = locks.acquire("a");
  const auto token = first.token();
  ASSERT_TRUE(first.release());
  server.command("update interlock.il_name set used = used - 2 * 86400000000; call interlock.il_tidy()");
  ASSERT_EQ(server.value("select count(*) from interlock.il_name"), "0");
  EXPECT_GT(locks.acquire("a").token(), token);
}

}  // namespace
}  // namespace interlock

#endif
