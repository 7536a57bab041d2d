// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_POSTGRES) || defined(INTERLOCK_WITH_MYSQL)

#include "support/database_under_test.hpp"
#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// What can happen to a database with lock tables, its sessions, and the way to it. What only one of them has is in
/// postgres_fault_test.cpp and mariadb_fault_test.cpp.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::tcp_proxy;

bool may_have_happened(const failure& why) { return why == errc::unavailable || why == errc::indeterminate; }

template <class Database>
struct database_fault : ::testing::Test {
  typename Database::server server{};
};
TYPED_TEST_SUITE(database_fault, test_support::databases_under_test, test_support::named_after_database);

template <class Database>
struct database_fault_set_up : ::testing::Test {};
TYPED_TEST_SUITE(database_fault_set_up, test_support::databases_under_test, test_support::named_after_database);

TYPED_TEST(database_fault, a_killed_session_costs_no_lock) {
  auto& database = this->server;
  const client locks(database.url());
  auto held = locks.acquire("a", lease_of(2s));
  for (int i = 0; i < 5; ++i) {
    TypeParam::end_sessions(database);
    std::this_thread::sleep_for(100ms);
  }
  std::this_thread::sleep_for(2s);  // longer than its lease
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.state(), lock_state::held);
  EXPECT_FALSE(client(database.url()).try_acquire("a").has_value());
  EXPECT_TRUE(held.release());
}

TYPED_TEST(database_fault, a_waiter_whose_session_was_killed_is_granted_all_the_same) {
  auto& database = this->server;
  const client locks(database.url()), other(database.url());
  auto held = locks.acquire("a");
  std::jthread waiter([&] { EXPECT_TRUE(other.acquire("a").valid()); });
  ASSERT_TRUE(eventually([&] { return database.value("select count(*) from interlock.il_claim") == "2"; }));
  TypeParam::end_sessions(database);
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }, 10s));
}

TYPED_TEST(database_fault_set_up, a_restart_of_a_durable_server_keeps_the_lock_and_tokens_rise) {
  auto server = TypeParam::durable();
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

TYPED_TEST(database_fault, a_server_that_is_gone_is_unavailable_or_unknown_but_never_busy) {
  const client locks(this->server.url("patience=300ms"));
  this->server.kill();
  const auto reply = locks.attempt("a");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(may_have_happened(reply.error())) << reply.error().message();
}

TYPED_TEST(database_fault, a_frozen_server_makes_a_holder_lose_its_lock_in_time) {
  const client locks(this->server.url());
  auto held = locks.acquire("a", lease_of(1s));
  this->server.freeze();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_FALSE(held.valid());
  this->server.thaw();
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TYPED_TEST(database_fault, a_silent_partition_is_a_loss_for_the_holder_before_another_is_granted) {
  tcp_proxy network(this->server.port());
  const client cut_off(TypeParam::server::url_at(network.port()));
  const client other(this->server.url());
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

TYPED_TEST(database_fault, a_lost_reply_to_a_grant_leads_to_one_owner) {
  tcp_proxy network(this->server.port());
  const client locks(TypeParam::server::url_at(network.port()));
  for (int i = 0; i < 3; ++i) {
    network.lose_next_reply();
    auto reply = locks.attempt("a", {.wait = 5s});
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(this->server.value("select count(*) from interlock.il_claim where state = 'h'"), "1");
    ASSERT_TRUE(reply->release());
  }
  EXPECT_GT(network.seen().replies_lost, 0U);
}

// What was sent on the old connection arrives after the undo that was sent on the new one.
TYPED_TEST(database_fault, a_request_that_arrives_late_leaves_nothing_behind) {
  tcp_proxy network(this->server.port());
  const client locks(TypeParam::server::url_at(network.port(), "patience=300ms&timeout=600ms"));
  static_cast<void>(locks.acquire("warm"));
  network.strand();
  const auto reply = locks.attempt("a");
  EXPECT_FALSE(reply);
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("b").has_value(); }, 10s));
  network.heal();
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(this->server.value("select count(*) from interlock.il_claim where state in ('h', 'w') and name = 'a'"),
            "0");
}

TYPED_TEST(database_fault, tables_that_were_dropped_are_a_lost_lock_and_are_made_again) {
  const client locks(this->server.url());
  auto held = locks.acquire("a", lease_of(1s));
  this->server.command(TypeParam::drop_tables);
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TYPED_TEST(database_fault, a_deleted_row_is_a_lost_lock_and_is_not_revived) {
  const client locks(this->server.url());
  auto held = locks.acquire("a", lease_of(900ms));
  this->server.command("delete from interlock.il_claim");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  const auto next = locks.acquire("a");
  EXPECT_GT(next.token(), held.token());
}

/// Sixty-four contenders, some of them in one message, on names that they all want.
struct storm {
  static constexpr int clients = 8, threads = 8, rounds = 3;
  std::atomic<int> granted{0}, inside{0}, overlaps{0};

  template <class Server>
  void rage(const Server& server) {
    const std::vector<std::string> names{"a", "b", "c", "d"};
    std::vector<std::unique_ptr<client>> all;
    for (int i = 0; i < clients; ++i) all.push_back(std::make_unique<client>(server.url()));
    std::vector<std::jthread> workers;
    for (int i = 0; i < clients * threads; ++i)
      workers.emplace_back([&, i] {
        for (int round = 0; round < rounds; ++round)
          once(*all[static_cast<std::size_t>(i % clients)], names[static_cast<std::size_t>(i + round) % names.size()]);
      });
  }
  void once(const client& locks, const std::string& name) {
    const auto reply = locks.attempt(name, {.wait = 60s});
    if (!reply) {
      ADD_FAILURE() << reply.error().message();
      return;
    }
    ++granted;
    if (name == "a" && inside++ != 0) ++overlaps;
    if (name == "a") --inside;
  }
  void expect_all_granted() const {
    EXPECT_EQ(granted, clients * threads * rounds);
    EXPECT_EQ(overlaps, 0);
  }
};

// Nobody has used the names before: it is the making of rows that locks gaps, where anything does.
TYPED_TEST(database_fault_set_up, a_storm_of_contenders_makes_no_deadlock) {
  const auto server = TypeParam::quick_to_see_deadlocks();
  storm weather;
  weather.rage(server);
  weather.expect_all_granted();
  EXPECT_FALSE(eventually([&] { return TypeParam::saw_deadlocks(server); }, 500ms));
}

// Somebody takes rows in the worst order: nobody is told of a deadlock, and every update counts.
TYPED_TEST(database_fault_set_up, a_storm_of_contenders_and_a_rival_transaction_shows_nobody_a_deadlock) {
  const auto server = TypeParam::quick_to_see_deadlocks();
  { const client first(server.url()); }
  server.command(TypeParam::make_rival);
  std::atomic<bool> stop{false};
  std::jthread vandal([&] {
    auto sql = TypeParam::beside(server);
    while (!stop) {
      try {
        sql.command(TypeParam::rival);
      } catch (const std::runtime_error&) {
        sql.command("rollback");
      }
    }
  });
  bool seen = false;
  for (int tries = 0; tries < 5 && !seen; ++tries) {  // it is a matter of chance that the two meet
    storm weather;
    weather.rage(server);
    weather.expect_all_granted();
    seen = eventually([&] { return TypeParam::saw_deadlocks(server); }, 2s);
  }
  stop = true;
  EXPECT_TRUE(seen) << "there was nothing to survive";
}

TYPED_TEST(database_fault, a_row_that_somebody_keeps_locked_is_unavailable_and_others_go_on) {
  const client locks(this->server.url("patience=700ms&timeout=2s"));
  static_cast<void>(locks.acquire("stuck").release());
  auto sql = TypeParam::beside(this->server);
  sql.command(std::string(TypeParam::begin) + "select 1 from interlock.il_name where name = 'stuck' for update");
  const auto reply = locks.attempt("stuck");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(may_have_happened(reply.error())) << reply.error().message();
  const client other(this->server.url());
  EXPECT_TRUE(other.try_acquire("free").has_value());
  sql.command("rollback");
  EXPECT_TRUE(eventually([&] { return other.try_acquire("stuck").has_value(); }, 10s));
}

TYPED_TEST(database_fault, hostile_names_are_different_locks) {
  const client locks(this->server.url());
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
                                       "$1",
                                       "caf\u00e9",
                                       "cafe\u0301",
                                       "CAFE",
                                       "\U0001F512",
                                       "{schema}",
                                       std::string(1024, 'x'),
                                       std::string(1023, 'x') + "y"};
  for (const auto& name : names) held.push_back(locks.acquire(name));
  const client other(this->server.url());
  for (const auto& name : names) EXPECT_FALSE(other.try_acquire(name).has_value()) << name;
  EXPECT_EQ(other.survey({}).size(), names.size());
}

TYPED_TEST(database_fault, without_the_right_to_create_the_tables_it_says_what_to_run) {
  const auto as_app = [&] { return TypeParam::server::url_at(this->server.port(), {}, "app"); };
  this->server.command(TypeParam::make_user);
  const auto refused = client::connect(as_app());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::denied) << refused.error().message();
  EXPECT_NE(refused.error().message().find(TypeParam::schema_verb), std::string::npos) << refused.error().message();
  const auto missing = client::connect(this->server.url("create=no"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), errc::unavailable);
  { const client administrator(this->server.url()); }
  this->server.command(TypeParam::grant);
  const client locks(as_app());
  EXPECT_TRUE(locks.acquire("a").valid());
}

TYPED_TEST(database_fault, tables_of_a_later_version_are_left_alone) {
  { const client first(this->server.url()); }
  this->server.command("update interlock.il_meta set version = 2");
  const auto refused = client::connect(this->server.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::unsupported);
}

// Beginning two seconds after a client has come, and going on while there is more than fits in one turn.
TYPED_TEST(database_fault, rows_of_those_who_died_are_removed_by_whoever_is_connected) {
  const auto rows = [&](const std::string& table) {
    return this->server.value("select count(*) from interlock.il_" + table);
  };
  const client dead(this->server.url());  // so long are its leases that it says nothing more
  std::vector<pending<guard>> all;
  for (int i = 0; i < 300; ++i) all.push_back(dead.async_acquire("old/" + std::to_string(i), lease_of(1h)));
  std::vector<guard> held;
  for (auto& one : all) held.push_back(one.get());
  this->server.command(TypeParam::let_all_end);
  const client other(this->server.url());
  EXPECT_TRUE(eventually([&] { return rows("claim") == "0" && rows("name") == "0"; }, 15s))
      << rows("claim") << " claims and " << rows("name") << " names are left";
}

TYPED_TEST(database_fault, forgotten_names_do_not_take_their_tokens_along) {
  const client locks(this->server.url());
  auto first = locks.acquire("a");
  const auto token = first.token();
  ASSERT_TRUE(first.release());
  this->server.command(TypeParam::forget_names);
  ASSERT_EQ(this->server.value("select count(*) from interlock.il_name"), "0");
  EXPECT_GT(locks.acquire("a").token(), token);
}

}  // namespace
}  // namespace interlock

#endif
