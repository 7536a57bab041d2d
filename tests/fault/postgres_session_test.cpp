// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

/// mode=session: advisory locks, with plain SQL clients beside us, poolers between us, and sessions that end.
namespace interlock::advisory_locks {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::pgbouncer;
using test_support::postgres_peek;
using test_support::postgres_server;
using test_support::tcp_proxy;

constexpr auto sessions = "mode=session", numbers = "mode=session&keys=number";

acquire_options shared() {
  acquire_options out;
  out.mode = lock_mode::shared;
  return out;
}

/// One server for all: the locks have numbers of their own.
postgres_server& server() {
  static postgres_server one;
  return one;
}

void end_sessions() {
  server().command("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'interlock'");
}

TEST(postgres_session, a_plain_sql_client_and_interlock_exclude_each_other) {
  const client locks(server().url(numbers));
  postgres_peek sql(server().conninfo());
  {
    auto held = locks.acquire("1001");
    EXPECT_EQ(sql.value("select pg_try_advisory_lock(1001)"), "f");
    EXPECT_EQ(sql.value("select pg_try_advisory_lock_shared(1001)"), "f");
    std::jthread releaser([&] {
      std::this_thread::sleep_for(100ms);
      EXPECT_TRUE(held.release());
    });
    sql.command("select pg_advisory_lock(1001)");  // waits, as such clients do
  }
  EXPECT_FALSE(locks.try_acquire("1001"));
  EXPECT_FALSE(locks.try_acquire("1001", shared()));
  std::jthread releaser([&] {
    std::this_thread::sleep_for(100ms);
    sql.command("select pg_advisory_unlock(1001)");
  });
  const auto next = locks.attempt("1001", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message();
  releaser.join();
  EXPECT_EQ(sql.value("select pg_try_advisory_lock(1001)"), "f");
}

// The command-line client that everybody has, in a process of its own.
TEST(postgres_session, a_plain_process_and_interlock_exclude_each_other) {
  const client locks(server().url(numbers));
  const auto by_command_line = [&](const std::string& text) {
    const auto line = "test \"$(psql -qtA '" + server().conninfo() + "' -c \"" + text + "\" </dev/null)\" = t";
    return std::system(line.c_str()) == 0;
  };
  {
    const auto held = locks.acquire("1002");
    EXPECT_FALSE(by_command_line("select pg_try_advisory_lock(1002)"));
    EXPECT_TRUE(by_command_line("select pg_try_advisory_lock(1003)"));
  }
  EXPECT_TRUE(eventually([&] { return by_command_line("select pg_try_advisory_lock(1002)"); }));
}

TEST(postgres_session, readers_of_both_kinds_share_and_a_writer_of_either_waits_for_all) {
  const client locks(server().url(numbers));
  postgres_peek sql(server().conninfo());
  auto one = locks.acquire("3,7", shared()), two = locks.acquire("3,7", shared());
  EXPECT_EQ(sql.value("select pg_try_advisory_lock_shared(3, 7)"), "t");
  EXPECT_FALSE(locks.try_acquire("3,7"));
  EXPECT_TRUE(one.release());
  EXPECT_EQ(sql.value("select pg_advisory_unlock_shared(3, 7)"), "t");
  EXPECT_FALSE(locks.try_acquire("3,7")) << "the second reader is still there";
  EXPECT_EQ(sql.value("select pg_try_advisory_lock(3, 7)"), "f");
  EXPECT_TRUE(two.release());
  EXPECT_TRUE(locks.try_acquire("3,7"));
}

TEST(postgres_session, two_names_with_one_key_contend_and_do_not_share_a_hold) {
  const client locks(server().url("mode=session&keys=django-pglocks"));
  // Both have the CRC-32 0x4ddb0c25.
  auto held = locks.acquire("plumless");
  EXPECT_FALSE(locks.try_acquire("buckeroo"));
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(locks.try_acquire("buckeroo"));
}

TEST(postgres_session, a_session_that_is_killed_is_a_loss_that_is_told_at_once) {
  const client locks(server().url(sessions));
  const auto held = locks.acquire("killed", lease_of(60s));
  const auto begin = std::chrono::steady_clock::now();
  end_sessions();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 10s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "not at the next renewal";
  EXPECT_EQ(held.why_lost(), loss_reason::store_reset);
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("killed").has_value(); }, 10s));
}

TEST(postgres_session, a_restart_of_the_server_is_a_loss_too) {
  postgres_server own;
  const client locks(own.url(sessions));
  const auto held = locks.acquire("a", lease_of(60s));
  own.restart();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 10s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

// The server is not told that anybody is gone: it finds out because nobody speaks.
TEST(postgres_session, a_silent_partition_holds_a_lock_no_longer_than_its_lease_and_idle_clients_keep_their_sessions) {
  tcp_proxy network(server().port());
  const client cut_off(postgres_server::url_at(network.port(), "mode=session&lease=2s")), other(server().url(sessions));
  const client idle(server().url("mode=session&lease=1s"));
  EXPECT_TRUE(idle.acquire("idle").release());
  EXPECT_EQ(server().value("select count(*) from pg_locks where locktype = 'advisory'"), "0");
  const auto all = "select string_agg(pid::text, ' ' order by pid) from pg_stat_activity where application_name = "
                   "'interlock' and client_port <> ";
  const auto held = cut_off.acquire("cut off");
  const auto port =
      server().value("select client_port from pg_locks join pg_stat_activity using (pid) where locktype = "
                     "'advisory'");
  const auto before = server().value(all + port);
  network.cut();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_FALSE(other.try_acquire("cut off")) << "the server has not noticed yet";
  const auto next = other.attempt("cut off", {.wait = 30s});
  EXPECT_TRUE(next) << next.error().message();
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(server().value(all + port), before);
}

TEST(postgres_session, a_pooler_is_refused_unless_it_leaves_each_client_its_session) {
  const pgbouncer by_transaction(server(), "transaction"), by_session(server(), "session");
  for (const auto* pooler : {&by_transaction, &by_session}) {
    const auto refused = client::connect(pooler->url(sessions));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), errc::unsupported) << refused.error().message();
  }
  const auto lied = client::connect(by_transaction.url("mode=session&pooler=session"));
  ASSERT_FALSE(lied);
  EXPECT_EQ(lied.error().kind(), errc::unsupported) << lied.error().message();
  EXPECT_NE(lied.error().message().find("each transaction"), std::string::npos) << lied.error().message();
  const client locks(by_session.url("mode=session&pooler=session"));
  auto held = locks.acquire("pooled");
  EXPECT_FALSE(client(server().url(sessions)).try_acquire("pooled"));
  EXPECT_TRUE(held.release());
}

TEST(postgres_session, says_what_it_cannot_do) {
  const client locks(server().url(sessions));
  const auto& traits = locks.traits();
  EXPECT_EQ(traits.guarantee, guarantee::best_effort);
  EXPECT_TRUE(traits.shared);
  EXPECT_FALSE(traits.tokens || traits.permits || traits.convert || traits.fifo || traits.push || traits.survey);
  EXPECT_FALSE(client::connect(server().url("mode=session&require=fenced")));
  EXPECT_EQ(client::connect(server().url("mode=session&schema=a")).error().kind(), errc::invalid_argument);
  EXPECT_EQ(client::connect(server().url("keys=medallion")).error().kind(), errc::invalid_argument);
  EXPECT_EQ(client::connect(server().url("mode=sometimes")).error().kind(), errc::invalid_argument);
  EXPECT_EQ(client(server().url(numbers)).attempt("no number").error(), errc::invalid_argument);
}

}  // namespace
}  // namespace interlock::advisory_locks

#endif
