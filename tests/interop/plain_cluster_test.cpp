// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <set>
#include <thread>

/// The plain layout where keys are spread over several servers.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;

TEST(plain_cluster, locks_of_all_masters_are_held_renewed_listed_waited_for_and_evicted) {
  test_support::redis_cluster servers;
  const client locks(servers.url("layout=plain&key=job:*")), other(servers.url("layout=plain&key=job:*"));
  std::vector<guard> held;
  std::set<int> masters;
  for (int i = 0; i < 24; ++i) {
    const auto name = (i % 2 == 0 ? "{tag}/" : "orders/}{") + std::to_string(100 + i);
    held.push_back(locks.acquire(name, {.lease = 900ms}));
    masters.insert(servers.master_of("job:" + name).port());
  }
  EXPECT_EQ(masters.size(), 3U) << "the names should be everywhere";
  std::this_thread::sleep_for(2500ms);
  for (const auto& one : held) {
    EXPECT_TRUE(one.valid()) << one.name();
    EXPECT_FALSE(other.try_acquire(one.name())) << one.name();
  }
  const auto seen = other.survey();
  ASSERT_EQ(seen.size(), held.size());
  for (const auto& one : seen) ASSERT_EQ(one.holders.size(), 1U) << one.name;

  auto& mine = held.front();
  auto wait = other.async_acquire(mine.name());
  EXPECT_TRUE(eventually([&] { return locks.inspect(mine.name()).waiters.size() == 1; }));
  EXPECT_TRUE(mine.release());
  EXPECT_TRUE(wait.get().valid());

  auto& broken = held.back();
  EXPECT_TRUE(other.evict_by_force(broken.name(), broken.id()));
  EXPECT_TRUE(eventually([&] { return broken.lost().stop_requested(); }));
  EXPECT_EQ(broken.why_lost(), loss_reason::broken);
}

TEST(plain_cluster, a_signal_in_another_slot_is_refused_before_anything_is_written) {
  test_support::redis_cluster servers;
  const client locks(servers.url("layout=plain&key=lock:*&signal=lock-signal:*"));
  const auto reply = locks.attempt("orders", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::unsupported) << reply.error().message();
  EXPECT_EQ(servers.master_of("lock:orders").command({"EXISTS", "lock:orders"}), 0);
  EXPECT_TRUE(locks.acquire("{orders}").release());
  EXPECT_EQ(servers.master_of("{orders}").command({"LLEN", "lock-signal:{orders}"}), 1);
}

}  // namespace
}  // namespace interlock::interop

#endif
