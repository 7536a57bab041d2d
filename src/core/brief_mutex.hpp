// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace interlock::inline v1::core {

/// A mutex for sections of a few instructions, of which one request walks through twenty. What std::mutex does for each
/// of them (kinds of mutexes, the owner, counts of users, two calls into the C library) costs more than what they
/// guard; this is one instruction each way, unless somebody else is inside. To be used with std::lock_guard and the
/// like; to wait under it, std::condition_variable_any.
class brief_mutex {
 public:
  brief_mutex() noexcept = default;
  brief_mutex(const brief_mutex&) = delete;
  brief_mutex& operator=(const brief_mutex&) = delete;

  void lock() noexcept {
    if (!try_lock()) wait();
  }
  bool try_lock() noexcept {
    int was = open;
    return state_.compare_exchange_strong(was, shut, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (state_.exchange(open) == awaited) state_.notify_one();  // in one order with its look for sleepers
  }

 private:
  enum : int { open, shut, awaited /* shut, and somebody sleeps or is about to */ };

  // Whoever has slept cannot know whether others still do, and leaves it as awaited.
  [[gnu::noinline]] void wait() noexcept {
    while (state_.exchange(awaited, std::memory_order_acquire) != open) state_.wait(awaited, std::memory_order_relaxed);
  }

  std::atomic<int> state_{open};
};

}  // namespace interlock::inline v1::core
