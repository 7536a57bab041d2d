// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/doctor.hpp"
#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/mariadb_pooler.hpp"
#include "support/mariadb_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

/// mode=session: GET_LOCK, with plain SQL clients beside us, and sessions that end.
namespace interlock::user_locks {
namespace {

using namespace std::chrono_literals;
using test_support::diagnosis;
using test_support::eventually;
using test_support::lease_of;
using test_support::mariadb_peek;
using test_support::mariadb_pooler;
using test_support::mariadb_server;
using test_support::tcp_proxy;

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto sessions = "mode=session";

/// One server for all: each test has locks of its own.
mariadb_server& server() {
  static mariadb_server one;
  return one;
}

// The command-line client that everybody has; exit 0: the statement's one value was 1.
bool by_command_line(const std::string& text) {
  const auto line = "test \"$(mariadb --no-defaults --socket='" + server().socket() + "' -uroot -N -B -e \"" + text +
                    "\" </dev/null)\" = 1";
  return std::system(line.c_str()) == 0;
}

TEST(mariadb_session, a_plain_client_and_interlock_exclude_each_other) {
  const client locks(server().url(sessions));
  {
    const auto held = locks.acquire("orders/1");
    EXPECT_FALSE(by_command_line("select get_lock('orders/1', 0)"));
    EXPECT_TRUE(by_command_line("select get_lock('orders/2', 0)"));
  }
  EXPECT_TRUE(eventually([&] { return by_command_line("select get_lock('orders/1', 0)"); }));
  mariadb_peek sql(server().socket());
  ASSERT_EQ(sql.value("select get_lock('orders/1', 0)"), "1");
  EXPECT_FALSE(locks.try_acquire("orders/1"));
  std::jthread releaser([&] {
    std::this_thread::sleep_for(100ms);
    sql.command("do release_lock('orders/1')");
  });
  const auto next = locks.attempt("orders/1", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message();
  releaser.join();
  EXPECT_EQ(sql.value("select get_lock('orders/1', 0)"), "0");
}

TEST(mariadb_session, what_such_locks_cannot_do_is_refused) {
  const client locks(server().url(sessions));
  EXPECT_FALSE(locks.traits().shared);
  EXPECT_FALSE(locks.traits().permits);
  EXPECT_FALSE(locks.traits().tokens);
  EXPECT_EQ(locks.traits().guarantee, guarantee::best_effort);
  acquire_options shared;
  shared.mode = lock_mode::shared;
  const auto reply = locks.attempt("a", shared);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), errc::unsupported) << reply.error().message();
}

TEST(mariadb_session, a_killed_session_is_a_loss_at_once) {
  const client locks(server().url(sessions));
  const auto held = locks.acquire("killed");
  server().end_sessions();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("killed").has_value(); }, 10s));
}

TEST(mariadb_session, a_restart_of_the_server_is_a_loss_too) {
  mariadb_server own;
  const client locks(own.url(sessions));
  const auto held = locks.acquire("a", lease_of(60s));
  own.restart();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 10s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST(mariadb_session, a_server_that_may_be_a_replica_is_refused) {
  const mariadb_server replica({.arguments = {"--read-only"}});
  const auto refused = client::connect(replica.url(sessions));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("read-only"));
}

TEST(mariadb_session, a_pooler_is_refused) {
  using lends = mariadb_pooler::lends;
  for (const auto what : {lends::every_other_query, lends::everything}) {
    const mariadb_pooler pooler(server(), what);
    const auto refused = client::connect(pooler.url(sessions));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), errc::unsupported) << refused.error().message();
    EXPECT_THAT(refused.error().message(), HasSubstr("pooler"));
  }
}

// Each answer bears the number of the connection that gave it.
TEST(mariadb_session, a_pooler_that_behaves_at_first_is_found_out_and_holders_are_told) {
  using lends = mariadb_pooler::lends;
  mariadb_pooler pooler(server(), lends::nothing);
  const client locks(pooler.url(sessions));
  const auto held = locks.acquire("pooled", lease_of(2s));
  EXPECT_FALSE(client(server().url(sessions)).try_acquire("pooled"));
  pooler.lend(lends::every_query);
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s)) << "its renewal was answered elsewhere";
  pooler.lend(lends::nothing);
  ASSERT_TRUE(eventually(
      [&] {
        auto again = locks.try_acquire("pooled");
        return again && again->release();
      },
      10s));
  pooler.lend(lends::everything);
  const auto reply = locks.attempt("pooled", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), errc::unsupported) << reply.error().message();
  EXPECT_THAT(reply.error().message(), HasSubstr("pooler"));
}

TEST(mariadb_tables, do_without_a_session_of_their_own_and_doctor_says_what_is_in_between) {
  const mariadb_pooler pooler(server(), mariadb_pooler::lends::everything);
  const client locks(pooler.url()), other(server().url());
  const auto held = locks.acquire("pooled/table");
  EXPECT_FALSE(other.try_acquire("pooled/table"));
  EXPECT_THAT(diagnosis(locks, "pooler"), StartsWith("warn: one in between"));
  EXPECT_THAT(diagnosis(other, "pooler"), StartsWith("ok: "));
}

TEST(mariadb_session, doctor_says_what_such_locks_are_worth) {
  const client locks(server().url(sessions));
  EXPECT_THAT(diagnosis(locks, "sessions"), StartsWith("warn: "));
  EXPECT_THAT(diagnosis(locks, "server"), StartsWith("ok: MariaDB 1"));
  for (const auto* check : {"pooler", "connections"}) EXPECT_THAT(diagnosis(locks, check), StartsWith("ok: ")) << check;
}

// The server ends a silent session, although no packet says that it is dead.
TEST(mariadb_session, a_silent_partition_frees_the_lock_after_wait_timeout_and_the_holder_knew_before) {
  tcp_proxy network(server().port());
  const client cut_off(mariadb_server::url_at(network.port(), sessions));
  const client other(server().url(sessions));
  const auto held = cut_off.acquire("cut", lease_of(2s));
  network.cut();
  const auto next = other.attempt("cut", {.wait = 30s});
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_FALSE(held.valid());
}

TEST(mariadb_session, long_and_hostile_names_are_different_locks) {
  const client locks(server().url(sessions)), other(server().url(sessions));
  std::vector<guard> held;
  const std::vector<std::string> names{"h",
                                       "H",
                                       "h ",
                                       "h'; select 1; --",
                                       "h\\",
                                       "caf\u00e9",
                                       "\U0001F512",
                                       std::string(1000, 'x'),
                                       std::string(999, 'x') + "y"};
  for (const auto& name : names) held.push_back(locks.acquire(name));
  for (const auto& name : names) EXPECT_FALSE(other.try_acquire(name).has_value()) << name;
}

}  // namespace
}  // namespace interlock::user_locks

#endif
