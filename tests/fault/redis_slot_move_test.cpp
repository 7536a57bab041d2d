// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

/// A slot of a cluster moves while its locks are held, waited for and renewed.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_cluster;
using test_support::redis_server;

// Renewed every third of it: once at least in a move that takes longer than that, and a machine may stand still for a
// moment without the lease running out.
constexpr milliseconds lease = 4s, move_takes = 1600ms;

/// The slot of a key, between two masters.
struct moving_slot {
  moving_slot(redis_cluster& cluster, const std::string& key)
      : servers(cluster), slot(cluster.slot_of(key)), from(cluster.master_of_slot(slot)) {
    for (auto* one : servers.masters())
      if (one != &from) to = one;
  }
  [[nodiscard]] std::size_t keys_left() const {
    return from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"}).size();
  }
  void begin() const { servers.begin_move(slot, *to); }
  void move_one(const std::string& key) const {
    from.command({"MIGRATE", "127.0.0.1", std::to_string(to->port()), key, "0", "10000"});
  }
  void move_rest() const { servers.move_keys(slot, *to); }
  void finish() const { servers.finish_move(slot, *to); }

  redis_cluster& servers;
  int slot;
  redis_server& from;
  redis_server* to = nullptr;
};

TEST(redis_slot_move, a_holder_that_renews_and_its_waiters_in_their_order_move_along) {
  redis_cluster servers;
  const client holds(servers.url()), waits(servers.url()), waits_too(servers.url());
  auto held = holds.acquire("a", lease_of(lease));
  const auto queued = [&](std::size_t many) {
    return eventually([&] { return holds.inspect("a").waiters.size() == many; }, 5s);
  };
  auto second = waits.async_acquire("a", lease_of(lease));
  ASSERT_TRUE(queued(1));
  auto third = waits_too.async_acquire("a", lease_of(lease));
  ASSERT_TRUE(queued(2));

  const moving_slot slot(servers, "{a}");
  ASSERT_NE(slot.to, nullptr);
  ASSERT_EQ(slot.keys_left(), 3U) << "claims that wait have keys of their own";
  slot.begin();
  std::this_thread::sleep_for(move_takes / 4);
  slot.move_one("ilk1:{a}:b");
  ASSERT_EQ(slot.keys_left(), 2U) << "half of the name is here, half is there";
  std::this_thread::sleep_for(move_takes / 2);
  slot.move_rest();
  std::this_thread::sleep_for(move_takes / 4);
  slot.finish();

  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 5s));
  std::this_thread::sleep_for(lease);
  EXPECT_TRUE(held.valid()) << "it is renewed where it is now";
  EXPECT_FALSE(second.ready());
  EXPECT_FALSE(third.ready());
  const auto first_token = held.token();
  EXPECT_TRUE(held.release());
  auto next = second.get_result();
  ASSERT_TRUE(next) << next.error().message();
  const auto second_token = next->token();
  EXPECT_GT(second_token, first_token);
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(third.ready()) << "the second of the queue came third";
  EXPECT_TRUE(next->release());
  auto last = third.get_result();
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_GT(last->token(), second_token);
}

// Redis answers TRYAGAIN to whoever asks about several keys that are not all there, and nobody can renew meanwhile.
TEST(redis_slot_move, a_holder_is_told_of_its_loss_if_the_move_takes_longer_than_the_lease) {
  redis_cluster servers;
  const client holds(servers.url()), other(servers.url());
  auto held = holds.acquire("a", lease_of(1s));
  auto waiting = other.async_acquire("a", lease_of(30s));
  ASSERT_TRUE(eventually([&] { return holds.inspect("a").waiters.size() == 1; }, 5s));
  const moving_slot slot(servers, "{a}");
  ASSERT_NE(slot.to, nullptr);
  slot.begin();
  slot.move_one("ilk1:{a}:b");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 5s));
  EXPECT_FALSE(held.valid());
  EXPECT_FALSE(waiting.ready());
  slot.move_rest();
  slot.finish();
  auto next = waiting.get_result();
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_GT(next->token(), held.token());
}

// One command with one key is what a master passes on with ASK, and the other one takes it only behind ASKING.
TEST(redis_slot_move, a_lock_of_one_key_is_taken_where_it_will_be) {
  redis_cluster servers;
  const client locks(servers.url("layout=plain&token=none&patience=2s"));
  const moving_slot slot(servers, "{a}1");
  ASSERT_NE(slot.to, nullptr);
  slot.begin();
  auto held = locks.attempt("{a}1", lease_of(lease));
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(slot.to->ask({"EXISTS", "{a}1"}).text.substr(0, 5), "MOVED") << "only who says ASKING is let in";
  EXPECT_EQ(slot.from.ask({"EXISTS", "{a}1"}).text.substr(0, 3), "ASK") << "it is not where it was";
  std::this_thread::sleep_for(move_takes);
  slot.finish();
  EXPECT_EQ(slot.to->command({"EXISTS", "{a}1"}), 1);
  EXPECT_TRUE(eventually([&] { return held->state() == lock_state::held; }, 5s));
  const auto refused = client(servers.url("layout=plain&token=none")).attempt("{a}1", {.wait = 0ms});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::busy) << refused.error().message();
  std::this_thread::sleep_for(lease);
  EXPECT_TRUE(held->valid()) << "it is renewed where it is now";
  EXPECT_TRUE(held->release());
  EXPECT_EQ(slot.to->command({"EXISTS", "{a}1"}), 0);
}

TEST(redis_slot_move, a_lock_of_one_key_that_moves_stays_held) {
  redis_cluster servers;
  const client locks(servers.url("layout=plain&token=none"));
  auto held = locks.acquire("{a}1", lease_of(lease));
  const moving_slot slot(servers, "{a}1");
  ASSERT_NE(slot.to, nullptr);
  slot.begin();
  slot.move_rest();
  std::this_thread::sleep_for(move_takes);
  slot.finish();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 5s));
  std::this_thread::sleep_for(lease);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
}

}  // namespace
}  // namespace interlock

#endif
