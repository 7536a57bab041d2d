// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <thread>

/// A cluster's slots move while clients listen to channels that belong to them, and while masters do not agree.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_cluster;
using test_support::redis_server;

class redis_cluster_messages : public ::testing::Test {
 protected:
  redis_server& another_than(const redis_server& one) {
    for (auto* each : servers.masters())
      if (each != &one) return *each;
    throw std::logic_error("only one master");
  }
  // As redis_cluster::finish_move(), but waits for nobody to hear of it.
  static void finish_move_unnoticed(int slot, redis_server& from, redis_server& to) {
    const auto heir = to.command({"CLUSTER", "MYID"}).text;
    to.command({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", heir});
    from.command({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", heir});
  }
  static bool listened_to(const redis_server& at, const std::string& channel) {
    return at.command({"PUBSUB", "SHARDNUMSUB", channel})[1].number == 1;
  }
  // Nobody but whoever is meant gets an answer: each name is held by whom the server shows.
  static void expect_right_answers(const client& locks, const client& onlooker) {
    for (int i = 0; i < 20; ++i) {
      const auto name = "n" + std::to_string(i);
      auto held = locks.attempt(name, lease_of(5s));
      ASSERT_TRUE(held) << held.error().message();
      const auto seen = onlooker.inspect(name).holders;
      ASSERT_EQ(seen.size(), 1U) << name;
      EXPECT_EQ(seen[0].id, held->id()) << name;
      EXPECT_EQ(locks.inspect(name).holders.size(), 1U) << name;
      EXPECT_TRUE(held->release());
      EXPECT_TRUE(onlooker.inspect(name).holders.empty()) << name;
    }
  }

  redis_cluster servers;
  const std::string channel = "redisson_lock__channel:{a}";
};

TEST_F(redis_cluster_messages, leaving_a_channel_whose_slot_has_just_gone_costs_nobody_his_answer) {
  const auto url = servers.url("layout=redisson");
  const client locks(url), onlooker(url);
  std::mt19937 dice(7);
  for (int round = 0; round < 12; ++round) {
    const auto name = "moving" + std::to_string(round), messages = "redisson_lock__channel:{" + name + "}";
    const auto held = onlooker.acquire(name);
    std::optional<pending<guard>> waiting(locks.async_acquire(name));
    const int slot = servers.slot_of(name);
    auto& from = servers.master_of_slot(slot);
    auto& to = another_than(from);
    ASSERT_TRUE(eventually([&] { return listened_to(from, messages); }, 5s)) << "round " << round;
    servers.begin_move(slot, to);
    servers.move_keys(slot, to);
    // Some leave before the server says that the slot has gone, some after it, and some just then.
    std::jthread leaver([&, pause = std::chrono::microseconds(dice() % 3000)] {
      std::this_thread::sleep_for(pause);
      waiting.reset();
    });
    finish_move_unnoticed(slot, from, to);
    leaver.join();
    expect_right_answers(locks, onlooker);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(held.valid());
  }
}

TEST_F(redis_cluster_messages, a_shards_channel_is_listened_to_where_its_slot_has_gone) {
  const client holder(servers.url("layout=redisson")), locks(servers.url("layout=redisson"));
  auto held = holder.acquire("a");
  auto waiting = locks.async_acquire("a");
  const int slot = servers.slot_of("a");
  auto& from = servers.master_of_slot(slot);
  ASSERT_TRUE(eventually([&] { return listened_to(from, channel); }, 5s));
  auto& to = another_than(from);
  servers.move(slot, to);
  EXPECT_TRUE(eventually([&] { return listened_to(to, channel); }, 3s));

  to.command({"DEL", "a"});  // a message on the shard's channel is all that tells of it
  to.command({"SPUBLISH", channel, "0"});
  EXPECT_TRUE(eventually([&] { return waiting.ready(); }, 2s));
  EXPECT_TRUE(waiting.get_result().has_value());
}

TEST_F(redis_cluster_messages, a_shards_channel_is_listened_to_at_a_masters_heir) {
  const client holder(servers.url("layout=redisson")), locks(servers.url("layout=redisson"));
  auto held = holder.acquire("a");
  auto waiting = locks.async_acquire("a");
  auto& from = servers.master_of("a");
  ASSERT_TRUE(eventually([&] { return listened_to(from, channel); }, 5s));
  auto& heir = servers.failover(from);
  EXPECT_TRUE(eventually([&] { return listened_to(heir, channel); }, 5s));

  heir.command({"DEL", "a"});
  heir.command({"SPUBLISH", channel, "0"});
  EXPECT_TRUE(eventually([&] { return waiting.ready(); }, 2s));
  EXPECT_TRUE(waiting.get_result().has_value());
}

TEST_F(redis_cluster_messages, masters_that_send_us_to_each_other_are_waited_for_until_they_agree) {
  const client locks(servers.url()), hasty(servers.url("patience=300ms"));
  const int slot = servers.slot_of("{a}");
  auto& from = servers.master_of_slot(slot);
  auto& to = another_than(from);
  const auto heir = to.command({"CLUSTER", "MYID"}).text;
  const auto says = [&](redis_server& who) { return who.ask({"GET", "{a}"}).text.substr(0, 5); };
  from.command({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", heir});
  ASSERT_EQ(says(from), "MOVED");
  ASSERT_EQ(says(to), "MOVED");

  const auto got = hasty.attempt("a", lease_of(5s));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::unavailable) << got.error().message();
  auto waiting = locks.async_acquire("a", lease_of(5s));
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(waiting.ready());
  to.command({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", heir});
  EXPECT_TRUE(waiting.get_result().has_value());
}

}  // namespace
}  // namespace interlock

#endif
