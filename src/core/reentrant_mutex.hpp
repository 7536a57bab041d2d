// SPDX-License-Identifier: MIT
#pragma once

#include "core/brief_mutex.hpp"

#include <atomic>

namespace interlock::inline v1::core {

/// A mutex that its owner may lock again, and that others may wait for as long as it takes. As with brief_mutex, it is
/// one instruction each way where std::recursive_mutex makes two calls into the C library.
class reentrant_mutex {
 public:
  reentrant_mutex() noexcept = default;
  reentrant_mutex(const reentrant_mutex&) = delete;
  reentrant_mutex& operator=(const reentrant_mutex&) = delete;

  void lock() noexcept {
    if (owner_.load(std::memory_order_relaxed) != this_thread()) {  // nobody else can make these two equal
      mutex_.lock();
      owner_.store(this_thread(), std::memory_order_relaxed);
    }
    ++depth_;
  }
  /// false: somebody has it, perhaps this thread itself.
  bool try_lock() noexcept {
    if (!mutex_.try_lock()) return false;
    owner_.store(this_thread(), std::memory_order_relaxed);
    ++depth_;
    return true;
  }
  void unlock() noexcept {
    if (--depth_ > 0) return;
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  static const void* this_thread() noexcept {
    static constinit thread_local const char here = 0;
    return &here;
  }

  brief_mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  unsigned depth_ = 0;  // [mutex_]
};

}  // namespace interlock::inline v1::core
