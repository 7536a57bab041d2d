// SPDX-License-Identifier: MIT
#include "core/brief_mutex.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace interlock::core {
namespace {

TEST(brief_mutex, lets_one_in_at_a_time) {
  constexpr int threads = 4, rounds = 50'000;
  brief_mutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          const std::lock_guard lock(mutex);
          ++count;
          if (round % 1'000 == 0) std::this_thread::yield();  // inside, so that others have to sleep
        }
      });
  }
  EXPECT_EQ(count, threads * rounds);
}

TEST(brief_mutex, is_refused_while_somebody_is_inside) {
  brief_mutex mutex;
  std::unique_lock first(mutex);
  EXPECT_FALSE(mutex.try_lock());
  first.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(brief_mutex, can_be_waited_under) {
  brief_mutex mutex;
  std::condition_variable_any changed;
  int turn = 0;
  const auto play = [&](int mine) {
    for (int i = 0; i < 1'000; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return turn % 2 == mine; });
      ++turn;
      changed.notify_all();
    }
  };
  { const std::jthread even(play, 0), odd(play, 1); }
  EXPECT_EQ(turn, 2'000);
}

}  // namespace
}  // namespace interlock::core
