// SPDX-License-Identifier: MIT
#include "core/reentrant_mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace interlock::core {
namespace {

TEST(reentrant_mutex, lets_its_owner_in_again_and_nobody_else_before_the_last_unlock) {
  reentrant_mutex mutex;
  std::atomic<bool> inside{false};
  mutex.lock();
  mutex.lock();
  std::jthread other([&] {
    const std::lock_guard lock(mutex);
    inside = true;
  });
  mutex.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_FALSE(inside) << "it was locked twice and unlocked once";
  mutex.unlock();
  other.join();
  EXPECT_TRUE(inside);
}

TEST(reentrant_mutex, lets_one_thread_in_at_a_time) {
  constexpr int threads = 4, rounds = 20'000;
  reentrant_mutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          const std::lock_guard outer(mutex);
          const std::lock_guard inner(mutex);
          ++count;
          if (round % 1'000 == 0) std::this_thread::yield();
        }
      });
  }
  EXPECT_EQ(count, threads * rounds);
}

}  // namespace
}  // namespace interlock::core
