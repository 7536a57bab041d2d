// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_sentinels.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

/// Sentinel, Cluster and replicas: the master changes while locks are held.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_cluster;
using test_support::redis_replicas;
using test_support::redis_sentinels;
using test_support::redis_server;

/// Counts the jeopardies of a client.
struct watched_client {
  std::atomic<int> jeopardies{0}, losses{0};
  std::unique_ptr<client> locks;
  explicit watched_client(const std::string& url) {
    client_options options;
    options.observer = [this](const event& one) {
      jeopardies += one.kind == event_kind::jeopardy ? 1 : 0;
      losses += one.kind == event_kind::lost ? 1 : 0;
    };
    locks = std::make_unique<client>(url, options);
  }
};

// Two clients count under the lock, whatever happens meanwhile.
int count_under_lock(const std::string& url, const std::atomic<bool>& stop, std::atomic<int>& counter,
                     std::atomic<int>& done) {
  const client locks(url);
  int unsure = 0;
  while (!stop) {
    auto held = locks.attempt("counter", lease_of(10s));
    if (!held) {
      ++unsure;
      continue;
    }
    const int seen = counter;
    std::this_thread::sleep_for(1ms);
    if (!held->valid()) continue;
    counter = seen + 1;
    ++done;
  }
  return unsure;
}

TEST(redis_sentinel, a_hand_over_in_mid_hold_is_jeopardy_and_then_held_again) {
  redis_sentinels servers;
  watched_client one(servers.url());
  auto held = one.locks->acquire("a", lease_of(20s));
  EXPECT_EQ(servers.master().command({"WAIT", "2", "5000"}), 2) << "sentinels do not wait until the replicas have it";
  servers.failover();
  EXPECT_TRUE(eventually([&] { return one.jeopardies > 0; }, 15s));
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 15s));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(client(servers.url()).try_acquire("a").has_value());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(client(servers.url()).try_acquire("a").has_value());
}

TEST(redis_sentinel, a_dead_master_is_replaced_and_locking_goes_on) {
  redis_sentinels servers;
  watched_client one(servers.url());
  auto held = one.locks->acquire("a", lease_of(30s));
  auto& old = servers.master();
  EXPECT_EQ(old.command({"WAIT", "2", "5000"}), 2) << "the replicas have it";
  old.kill();
  servers.await_master_other_than(old);
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held && one.jeopardies > 0; }, 15s));
  EXPECT_TRUE(eventually([&] { return one.locks->attempt("b", lease_of(5s)).has_value(); }, 15s));
  EXPECT_TRUE(held.valid());
}

TEST(redis_sentinel, a_master_that_no_sentinel_knows_is_said) {
  redis_sentinels servers;
  auto url = servers.url();
  url.replace(url.find("/m1"), 3, "/nobody");
  try {
    const client locks(url);
    FAIL() << "connected";
  } catch (const lock_error& wrong) {
    EXPECT_EQ(wrong.why().kind(), errc::unavailable);
    EXPECT_NE(wrong.why().message().find("nobody"), std::string::npos) << wrong.why().message();
  }
}

TEST(redis_cluster_store, a_hand_over_in_mid_hold_is_jeopardy_and_then_held_again) {
  redis_cluster servers;
  watched_client one(servers.url());
  auto held = one.locks->acquire("a", lease_of(20s));
  servers.failover(servers.master_of("{a}"));
  EXPECT_TRUE(eventually([&] { return one.jeopardies > 0; }, 15s));
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 15s));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(client(servers.url()).try_acquire("a").has_value());
  EXPECT_TRUE(held.release());
}

TEST(redis_cluster_store, a_dead_master_is_replaced_and_locking_goes_on) {
  redis_cluster servers;
  watched_client one(servers.url());
  auto held = one.locks->acquire("a", lease_of(30s));
  auto& old = servers.master_of("{a}");
  const int slot = servers.slot_of("{a}");
  EXPECT_EQ(old.command({"WAIT", "1", "5000"}), 1) << "the replica has it";
  old.kill();
  servers.await_master_other_than(old, slot);
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held && one.jeopardies > 0; }, 20s));
  EXPECT_TRUE(held.valid());
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(eventually([&] { return one.locks->attempt("n" + std::to_string(i), lease_of(5s)).has_value(); }, 15s));
}

TEST(redis_cluster_store, a_slot_moved_in_mid_hold_takes_its_locks_along) {
  redis_cluster servers;
  const client locks(servers.url());
  auto held = locks.acquire("a", lease_of(20s));
  const int slot = servers.slot_of("{a}");
  auto& from = servers.master_of_slot(slot);
  redis_server* to = nullptr;
  for (auto* one : servers.masters())
    if (one != &from) to = one;
  ASSERT_NE(to, nullptr);

  // A server answers "try again" while some of a name's keys are here and some there: that is neither busy nor granted.
  const client other(servers.url("patience=300ms"));
  servers.begin_move(slot, *to);
  EXPECT_FALSE(other.attempt("a", lease_of(1s)).has_value());
  servers.move_keys(slot, *to);
  EXPECT_FALSE(other.attempt("a", lease_of(1s)).has_value());
  servers.finish_move(slot, *to);
  EXPECT_TRUE(eventually([&] { return other.inspect("a").holders.size() == 1; }, 5s));
  auto waiting = other.async_acquire("a", lease_of(20s));
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(waiting.get_result().has_value());
}

TEST(redis_cluster_store, counting_through_a_fail_over_loses_no_update) {
  redis_cluster servers;
  std::atomic<bool> stop{false};
  std::atomic<int> done{0};
  std::atomic<int> counter{0};  // read and written in two steps
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) workers.emplace_back([&] { count_under_lock(servers.url(), stop, counter, done); });
  EXPECT_TRUE(eventually([&] { return done > 20; }, 10s));
  servers.failover(servers.master_of("{counter}"));
  const int then = done;
  EXPECT_TRUE(eventually([&] { return done > then + 20; }, 20s));
  stop = true;
  workers.clear();
  EXPECT_EQ(counter, done);
}

TEST(redis_replica_confirmation, a_confirmed_grant_survives_its_master) {
  redis_replicas servers(1);
  const client locks(servers.master().url("replicas=1"));
  auto held = locks.acquire("a", lease_of(20s));
  servers.master().kill();
  EXPECT_EQ(servers.replica(0).command({"EXISTS", "ilk1:{a}:b"}).number, 1);
}

TEST(redis_replica_confirmation, a_grant_that_no_replica_confirms_is_undone_and_said) {
  redis_replicas servers(1);
  const client locks(servers.master().url("replicas=1&replica_timeout=100ms&patience=1s"));
  servers.replica(0).freeze();
  const auto got = locks.attempt("a", lease_of(20s));
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().kind(), errc::busy);  // unavailable, or indeterminate if it was just being asked again
  EXPECT_NE(got.error().message().find("0 of 1 replicas"), std::string::npos) << got.error().message();
  EXPECT_TRUE(eventually([&] { return client(servers.master().url()).try_acquire("a").has_value(); }, 5s))
      << "nothing is left of it";
  servers.replica(0).thaw();
  EXPECT_TRUE(eventually([&] { return locks.attempt("a", lease_of(20s)).has_value(); }, 5s));
}

TEST(redis_replica_confirmation, a_pushed_grant_waits_for_the_replica_too) {
  redis_replicas servers(1);
  const auto url = servers.master().url("replicas=1&replica_timeout=100ms");
  const client first(url), second(url);
  auto held = first.acquire("a", lease_of(20s));
  auto waiting = second.async_acquire("a", lease_of(20s));
  EXPECT_TRUE(eventually([&] { return !first.inspect("a").waiters.empty(); }, 3s));
  servers.replica(0).freeze();
  static_cast<void>(held.release());
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(waiting.ready()) << "no replica knows";
  servers.replica(0).thaw();
  EXPECT_TRUE(waiting.get_result().has_value());
}

}  // namespace
}  // namespace interlock

#endif
