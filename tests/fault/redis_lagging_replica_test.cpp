// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_sentinels.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// Replicas that have not got what the master was told: when one of them takes over, and when a grant waits for it.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_cluster;
using test_support::redis_options;
using test_support::redis_sentinels;
using test_support::redis_server;
using test_support::tcp_proxy;

/// What a guard was told, in order.
class told_states {
 public:
  explicit told_states(const guard& of)
      : told_(of.on_change([this](lock_state is) {
          const std::lock_guard lock(mutex_);
          states_.push_back(is);
        })) {}
  [[nodiscard]] std::vector<lock_state> all() const {
    const std::lock_guard lock(mutex_);
    return states_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<lock_state> states_;
  subscription told_;
};

const std::vector<lock_state> jeopardy_then_lost{lock_state::jeopardy, lock_state::lost};

// Replicas get nothing from it any more and go on answering; nobody else notices.
void stop_replicating(const redis_server& master) {
  master.command({"ACL", "SETUSER", "default", "-psync", "-sync", "-replconf"});
  master.command({"CLIENT", "KILL", "TYPE", "replica"});
  EXPECT_EQ(master.command({"WAIT", "1", "100"}), 0);
}

// `fail_over` kills the master; another one has taken over when it returns.
template <class FailOver>
void expect_a_loss_that_is_told(const std::string& url, const redis_server& master, FailOver fail_over) {
  const client locks(url);
  EXPECT_TRUE(locks.acquire("a", lease_of(60s)).release());
  master.command({"WAIT", "1", "5000"});
  stop_replicating(master);
  const auto held = locks.acquire("a", lease_of(60s));
  const auto token = held.token();
  const told_states told(held);
  fail_over();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 20s));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), loss_reason::store_reset) << to_string(held.why_lost());
  EXPECT_TRUE(eventually([&] { return told.all() == jeopardy_then_lost; }, 5s));
  const auto next = locks.attempt("a", {.wait = 10s});
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_GT(next->token(), token);
}

TEST(redis_lagging_replica, that_sentinels_promote_loses_the_last_grant_and_its_holder_is_told) {
  redis_sentinels servers;
  auto& old = servers.master();
  expect_a_loss_that_is_told(servers.url(), old, [&] {
    old.kill();
    servers.await_master_other_than(old);
  });
}

TEST(redis_lagging_replica, that_takes_over_in_a_cluster_loses_the_last_grant_and_its_holder_is_told) {
  redis_cluster servers;
  auto& old = servers.master_of("{a}");
  const int slot = servers.slot_of("{a}");
  expect_a_loss_that_is_told(servers.url(), old, [&] {
    old.kill();
    servers.await_master_other_than(old, slot);
  });
}

/// A master, and a replica behind a network of its own.
class far_replica : public ::testing::Test {
 protected:
  far_replica() {
    test_support::await("the replica is connected", [&] { return master.command({"WAIT", "1", "100"}) == 1; });
    // It may be a second until a master sends on to a replica that has just copied everything.
    auto writer = master.connect();
    writer.command({"SET", "x", "y"});
    EXPECT_EQ(writer.command({"WAIT", "1", "10000"}), 1);
  }
  static redis_options prompt() {
    redis_options out;
    out.config = {"hz 100"};  // how soon a master notices that a copy is complete
    return out;
  }
  redis_options behind_the_network() const {
    auto out = prompt();
    out.replica_of = network.port();
    return out;
  }
  redis_server master{prompt()};
  tcp_proxy network{master.port()};
  redis_server replica{behind_the_network()};
};

TEST_F(far_replica, is_waited_for_before_a_grant_is_believed) {
  const client locks(master.url("replicas=1&replica_timeout=1500ms"));
  const auto time_of_grant = [&](const std::string& name) {
    const auto begin = steady_clock::now();
    const auto held = locks.acquire(name, lease_of(20s));
    const auto took = steady_clock::now() - begin;
    EXPECT_EQ(replica.command({"EXISTS", "ilk1:{" + name + "}:b"}), 1) << "it was believed before the replica had it";
    return took;
  };
  EXPECT_LT(time_of_grant("a"), 150ms) << "so the network is what takes the time";
  network.delay(100ms);
  EXPECT_GE(time_of_grant("b"), 200ms) << "there and back";
}

TEST_F(far_replica, that_confirms_no_renewal_is_jeopardy_and_then_a_loss_by_the_end_of_the_lease) {
  const client locks(master.url("replicas=1&replica_timeout=200ms"));
  const auto held = locks.acquire("a", lease_of(2s));
  const told_states told(held);
  std::this_thread::sleep_for(3s);
  EXPECT_EQ(held.state(), lock_state::held) << "renewals are confirmed as long as the replica is there";
  network.cut();
  const auto begin = steady_clock::now();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::jeopardy; }, 2s));
  EXPECT_TRUE(eventually([&] { return !held.valid(); }, 4s));
  EXPECT_LT(steady_clock::now() - begin, 2s + 100ms) << "a master that renews is not enough";
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 2s));
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed) << to_string(held.why_lost());
  EXPECT_TRUE(eventually([&] { return told.all() == jeopardy_then_lost; }, 2s));
  network.heal();
  test_support::await("the replica is connected", [&] { return master.command({"WAIT", "1", "100"}) == 1; });
  EXPECT_TRUE(eventually([&] { return locks.attempt("a", lease_of(20s)).has_value(); }, 5s));
}

}  // namespace
}  // namespace interlock

#endif
