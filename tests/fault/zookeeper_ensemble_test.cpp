// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

/// What can happen to some of ZooKeeper's servers while others go on.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

/// One ensemble for all of them, and a root for each.
struct zookeeper_ensemble_fault : ::testing::Test {
  explicit zookeeper_ensemble_fault(zookeeper_ensemble::ways among = zookeeper_ensemble::ways::direct)
      : servers(zookeeper_ensemble::shared(among)) {}

  zookeeper_ensemble& servers;
  const std::string root = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();

  [[nodiscard]] std::string url() const { return servers.url(root); }
  [[nodiscard]] std::string url_at(const zookeeper_server& one) const { return one.url(root); }

  struct holder {
    client locks;
    guard held;
    std::int64_t session = 0;
  };
  /// A client of all servers that happens to be connected to this one, and holds "a".
  [[nodiscard]] holder hold_at(zookeeper_server& here, milliseconds lease) const {
    for (int tries = 0; tries < 100; ++tries) {
      client locks(url());
      auto held = locks.acquire("a", {.lease = lease, .wait = 10s});
      auto peek = here.connect();
      std::vector<std::string> all;
      await("it is seen there", [&] { return (all = peek.children(root + "/a").value_or(all)).size() == 1; });
      const auto session = peek.read(root + "/a/" + all.front()).value().owner;
      if (here.serves(session)) return {std::move(locks), std::move(held), session};
      held.release().value();
    }
    throw std::runtime_error("no client gets there");
  }
};

struct zookeeper_ensemble_parted : zookeeper_ensemble_fault {
  zookeeper_ensemble_parted() : zookeeper_ensemble_fault(zookeeper_ensemble::ways::breakable) {}
};

TEST_F(zookeeper_ensemble_fault, killing_the_leader_costs_no_hold_and_no_place_in_the_queue) {
  const client_options patient{.patience = 30s};  // an election may take long
  const client locks(url(), patient), other(url(), patient);
  auto held = locks.acquire("a");
  auto wait = other.async_acquire("a");
  {
    auto peek = servers.follower().connect();
    const auto size = [&] { return peek.children(root + "/a").value_or(std::vector<std::string>{}).size(); };
    ASSERT_TRUE(eventually([&] { return size() == 2; }));
  }
  servers.leader().kill();
  ASSERT_TRUE(eventually([&] { return locks.attempt("b", {.wait = 1s}).has_value(); })) << "no leader any more";
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(wait.ready());
  ASSERT_TRUE(held.release());
  auto theirs = wait.get();
  EXPECT_GT(theirs.token(), held.token());
}

TEST_F(zookeeper_ensemble_fault, the_server_we_talk_to_may_freeze_and_the_session_goes_on_at_another) {
  auto& frozen = servers.follower();
  const auto ours = hold_at(frozen, 5s);
  frozen.freeze();
  const auto elsewhere = [&] {
    for (const auto& one : servers.servers())
      if (one.get() != &frozen && one->serves(ours.session)) return true;
    return false;
  };
  EXPECT_TRUE(eventually(elsewhere, 10s));
  EXPECT_TRUE(eventually([&] { return ours.held.state() == lock_state::held; }, 10s));
  EXPECT_EQ(servers.leader().connect().children(root + "/a")->size(), 1U);
}

TEST_F(zookeeper_ensemble_fault, a_leader_frozen_for_less_than_the_lease_costs_nothing) {
  const client locks(url());
  const auto held = locks.acquire("a", {.lease = 10s});
  auto& leader = servers.leader();
  leader.freeze();
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(held.valid());
  leader.thaw();
  EXPECT_TRUE(eventually([&] { return locks.attempt("b", {.wait = 1s}).has_value(); }, 10s));
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 10s));
}

TEST_F(zookeeper_ensemble_fault, a_minority_grants_nothing) {
  const client locks(url(), {.patience = 1s});
  const auto held = locks.acquire("a", {.lease = 2s});
  servers.servers()[0]->kill();
  servers.servers()[1]->kill();
  const auto reply = locks.attempt("b", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(eventually([&] { return !held.valid(); }, 5s));
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  servers.servers()[0]->restart();
  EXPECT_TRUE(eventually([&] { return locks.attempt("a", {.wait = 5s}).has_value(); }));
}

// It goes on answering pings and reads for ten seconds, from what it knew; the leader ends our session long before.
TEST_F(zookeeper_ensemble_parted, a_holder_whose_follower_is_cut_from_its_leader_knows_it_before_the_next_is_granted) {
  auto& follower = servers.follower();
  const client locks(url_at(follower), {.patience = 1s}), other(url_at(servers.leader()));
  const auto held = locks.acquire("a", {.lease = 1s});
  auto next = other.async_acquire("a");
  ASSERT_TRUE(eventually([&] { return follower.connect().children(root + "/a")->size() == 2; }));
  const auto begin = std::chrono::steady_clock::now();
  servers.part(follower);
  EXPECT_TRUE(eventually([&] { return !held.valid(); }, 5s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  EXPECT_FALSE(next.ready());
  EXPECT_EQ(follower.mode(), "follower") << "it has not noticed: whoever believes what it says is wrong";
  const auto reply = locks.attempt("b", {.wait = 0ms});
  ASSERT_FALSE(reply) << "granted by one of three";
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  const auto theirs = next.get();
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  EXPECT_GT(theirs.token(), held.token());
}

TEST_F(zookeeper_ensemble_parted, a_follower_cut_from_its_leader_is_left_for_another_and_the_hold_goes_on) {
  auto& follower = servers.follower();
  const auto ours = hold_at(follower, 5s);
  servers.part(follower);
  EXPECT_TRUE(eventually([&] { return servers.leader().connect().children(root + "/a")->size() == 1; }));
  EXPECT_TRUE(eventually([&] { return !follower.serves(ours.session); }, 10s));
  EXPECT_TRUE(eventually([&] { return ours.held.state() == lock_state::held; }, 10s));
  EXPECT_FALSE(client(url_at(servers.leader())).try_acquire("a"));
}

}  // namespace
}  // namespace interlock

#endif
