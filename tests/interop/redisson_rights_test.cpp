// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>

/// A user with the rights that docs/backends/redis-redisson.md names, and no others, can do everything.
namespace interlock::test_support {
namespace {

using namespace std::chrono_literals;

const std::string rights =
    "locker on >secret ~* &* +hello +info +eval +evalsha +subscribe +unsubscribe +publish +time +get +set +del +exists "
    "+type +pttl +pexpire +incrby +decrby +hget +hset +hdel +hmget +hgetall +hkeys +hlen +hexists +zadd +zrem +zrange "
    "+zrangebyscore +zcard +zscore +zincrby +lindex +llen +lpop +lrange +lrem +rpush +scan";

class redisson_rights : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, redisson_rights, ::testing::Values("lock", "fenced", "rw", "fair"),
                         [](const ::testing::TestParamInfo<const char*>& which) { return which.param; });

TEST_P(redisson_rights, the_rights_in_the_manual_are_enough) {
  redis_server server({.users = {rights}});
  const auto url =
      "redis://locker:secret@127.0.0.1:" + std::to_string(server.port()) + "?layout=redisson&object=" + GetParam();
  const client first(url), second(url);
  auto held = first.acquire("orders", {.lease = 600ms});
  auto wait = second.async_acquire("orders");
  EXPECT_TRUE(eventually([&] { return first.inspect("orders").waiters.size() == 1; }));
  std::this_thread::sleep_for(700ms);
  EXPECT_TRUE(held.release());
  held = wait.get();
  EXPECT_EQ(first.survey().size(), 1U);
  EXPECT_TRUE(first.evict("orders", held.id()));
  EXPECT_TRUE(eventually([&] { return !held.valid(); }));
  held = {};
  if (first.traits().convert) {
    auto reads = first.acquire("orders", {.mode = lock_mode::shared, .wait = 20s});
    EXPECT_TRUE(reads.upgrade());
    EXPECT_TRUE(reads.downgrade());
    EXPECT_TRUE(reads.release());
  }
  const latch start(first, "start", 2);
  EXPECT_TRUE(start.create());
  auto opened = latch(second, "start", 2).async_wait();
  EXPECT_EQ(start.count_down(), 1U);
  EXPECT_EQ(start.count_down(), 0U);
  EXPECT_TRUE(opened.get_result());
  start.reset();
  if (!first.traits().permits) return;
  auto permits = semaphore(first, "gate", 3).acquire({.permits = 2});
  EXPECT_FALSE(semaphore(second, "gate", 3).try_acquire({.permits = 2}));
  EXPECT_TRUE(permits.release());
}

}  // namespace
}  // namespace interlock::test_support

#endif
