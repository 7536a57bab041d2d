// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/eventually.hpp"
#include "support/postgres_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mount.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

/// What can happen to a PostgreSQL server, its sessions, and the way to it.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::postgres_peek;
using test_support::postgres_server;
using test_support::tcp_proxy;

acquire_options lease_of(milliseconds lease) {
  acquire_options out;
  out.lease = lease;
  return out;
}

void end_sessions(const postgres_server& server) {
  server.command("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'interlock'");
}

struct postgres_fault : ::testing::Test {
  postgres_server server{};
};

TEST_F(postgres_fault, a_killed_session_costs_no_lock) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(3s));
  for (int i = 0; i < 5; ++i) {
    end_sessions(server);
    std::this_thread::sleep_for(100ms);
  }
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.state(), lock_state::held);
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
  EXPECT_TRUE(held.release());
}

TEST_F(postgres_fault, a_waiter_whose_session_was_killed_is_granted_all_the_same) {
  const client locks(server.url()), other(server.url());
  auto held = locks.acquire("a");
  std::jthread waiter([&] { EXPECT_TRUE(other.acquire("a").valid()); });
  ASSERT_TRUE(eventually([&] { return server.value("select count(*) from interlock.il_claim") == "2"; }));
  end_sessions(server);
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }, 10s));
}

TEST(postgres_fault_kept, a_restart_of_a_durable_server_keeps_the_lock_and_tokens_rise) {
  postgres_server server({.durable = true});
  const client locks(server.url("require=strict"));
  auto held = locks.acquire("a", lease_of(10s));
  const auto token = held.token();
  server.restart();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 9s));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(client(server.url()).try_acquire("a").has_value());
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }, 9s));
  EXPECT_GT(locks.acquire("a").token(), token);
}

TEST_F(postgres_fault, a_server_that_is_gone_is_unavailable_or_unknown_but_never_busy) {
  const client locks(server.url("patience=300ms"));
  server.kill();
  const auto reply = locks.attempt("a");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
}

TEST_F(postgres_fault, a_frozen_server_makes_a_holder_lose_its_lock_in_time) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(1s));
  server.freeze();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_FALSE(held.valid());
  server.thaw();
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST_F(postgres_fault, a_silent_partition_is_a_loss_for_the_holder_before_another_is_granted) {
  tcp_proxy network(server.port());
  const client cut_off(postgres_server::url_at(network.port()));
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

TEST_F(postgres_fault, a_lost_reply_to_a_grant_leads_to_one_owner) {
  tcp_proxy network(server.port());
  const client locks(postgres_server::url_at(network.port()));
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
TEST_F(postgres_fault, a_request_that_arrives_late_leaves_nothing_behind) {
  tcp_proxy network(server.port());
  const client locks(postgres_server::url_at(network.port(), "patience=300ms&timeout=600ms"));
  static_cast<void>(locks.acquire("warm"));
  network.strand();
  const auto reply = locks.attempt("a");
  EXPECT_FALSE(reply);
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("b").has_value(); }, 10s));
  network.heal();
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(server.value("select count(*) from interlock.il_claim where state in ('h', 'w') and name = 'a'"), "0");
}

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

TEST_F(postgres_fault, tables_that_were_dropped_are_a_lost_lock_and_are_made_again) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(1s));
  server.command("set client_min_messages = error; drop schema interlock cascade");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST_F(postgres_fault, a_deleted_row_is_a_lost_lock_and_is_not_revived) {
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(900ms));
  server.command("delete from interlock.il_claim");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  const auto next = locks.acquire("a");
  EXPECT_GT(next.token(), held.token());
}

// Sixty-four contenders, some of them in one message, on names that they all want, while somebody takes them in the
// worst order: nobody is told of a deadlock, and every update counts.
TEST(postgres_storm, of_contenders_and_a_rival_transaction_shows_nobody_a_deadlock) {
  const postgres_server server({.settings = {"deadlock_timeout=5ms"}});
  constexpr int clients = 8, threads = 8, rounds = 3;
  const std::vector<std::string> names{"a", "b", "c", "d"};
  { const client first(server.url()); }
  std::atomic<int> granted{0}, failed{0}, inside{0}, overlaps{0};
  std::atomic<bool> stop{false};
  std::jthread vandal([&] {
    postgres_peek sql(server.conninfo());
    while (!stop) {
      try {
        sql.command("begin; select 1 from interlock.il_name where name = 'd' for update; "
                    "select pg_sleep(0.002); select 1 from interlock.il_name where name = 'a' for update; commit");
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
  EXPECT_TRUE(eventually([&] {
    return server.value("select deadlocks > 0 from pg_stat_database where datname = 'postgres'") == "t";
  })) << "there was nothing to survive";
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

TEST_F(postgres_fault, a_row_that_somebody_keeps_locked_is_unavailable_and_others_go_on) {
  const client locks(server.url("patience=700ms&timeout=1s"));
  static_cast<void>(locks.acquire("stuck").release());
  postgres_peek sql(server.conninfo());
  sql.command("begin; select 1 from interlock.il_name where name = 'stuck' for update");
  const auto reply = locks.attempt("stuck");
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(locks.try_acquire("free").has_value());
  sql.command("rollback");
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("stuck").has_value(); }, 10s));
}

TEST_F(postgres_fault, hostile_names_are_different_locks) {
  const client locks(server.url());
  std::vector<guard> held;
  const std::vector<std::string> names{"a",
                                       "A",
                                       "a ",
                                       " a",
                                       "a'; drop table x; --",
                                       "\"a\"",
                                       "a\\",
                                       "%",
                                       "$1",
                                       "caf\u00e9",
                                       "cafe\u0301",
                                       "\U0001F512",
                                       "{schema}",
                                       std::string(1024, 'x'),
                                       std::string(1023, 'x') + "y"};
  for (const auto& name : names) held.push_back(locks.acquire(name));
  const client other(server.url());
  for (const auto& name : names) EXPECT_FALSE(other.try_acquire(name).has_value()) << name;
  EXPECT_EQ(other.survey({}).size(), names.size());
}

TEST_F(postgres_fault, without_the_right_to_create_the_tables_it_says_what_to_run) {
  server.command("create role app login; create role other login; revoke create on schema public from public");
  const auto refused = client::connect(postgres_server::url_at(server.port(), {}, "app"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::denied);
  EXPECT_NE(refused.error().message().find("interlock schema postgres"), std::string::npos);
  const auto missing = client::connect(server.url("create=no"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), errc::unavailable);
  { const client administrator(server.url()); }
  // Exactly the rights that docs/backends/postgres.md names.
  server.command("grant usage on schema interlock to app; grant select, insert, update, delete on all tables in schema "
                 "interlock to app; grant execute on all functions in schema interlock to app");
  const client locks(postgres_server::url_at(server.port(), {}, "app"));
  EXPECT_TRUE(locks.acquire("a").valid());
}

TEST_F(postgres_fault, tables_of_a_later_version_are_left_alone) {
  { const client first(server.url()); }
  server.command("update interlock.il_meta set version = 2");
  const auto refused = client::connect(server.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::unsupported);
}

TEST_F(postgres_fault, forgotten_names_do_not_take_their_tokens_along) {
  const client locks(server.url());
  auto first = locks.acquire("a");
  const auto token = first.token();
  ASSERT_TRUE(first.release());
  server.command("update interlock.il_name set used = used - interval '2 days'; select interlock.il_tidy()");
  ASSERT_EQ(server.value("select count(*) from interlock.il_name"), "0");
  EXPECT_GT(locks.acquire("a").token(), token);
}

}  // namespace
}  // namespace interlock

#endif
