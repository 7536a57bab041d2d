// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

namespace interlock::inline v1::runtime {

/// Keeps a few freed blocks of one size for the next acquisition, so that lock and unlock in a loop allocate nothing.
/// Process-wide and never destroyed: guards may outlive everything else.
template <std::size_t Size>
class block_pool {
 public:
  static block_pool& instance() {
    static auto* one = new block_pool;
    return *one;
  }
  void* take() {
    void* block = nullptr;
    if (!taken_.test_and_set(std::memory_order_acquire)) {
      if (!spare_.empty()) {
        block = spare_.back();
        spare_.pop_back();
      }
      taken_.clear(std::memory_order_release);
    }
    return block != nullptr ? block : ::operator new(Size);
  }
  void give(void* block) noexcept {
    if (!taken_.test_and_set(std::memory_order_acquire)) {
      const bool room = spare_.size() < most;
      if (room) spare_.push_back(block);
      taken_.clear(std::memory_order_release);
      if (room) return;
    }
    ::operator delete(block);
  }

 private:
  static constexpr std::size_t most = 256;
  block_pool() { spare_.reserve(most); }
  std::atomic_flag taken_{};  // whoever finds it set does without the pool: cheaper than a mutex, and nobody waits
  std::vector<void*> spare_;
};

template <class T>
struct pool_allocator {
  using value_type = T;
  pool_allocator() noexcept = default;
  template <class U>
  pool_allocator(const pool_allocator<U>&) noexcept {}
  T* allocate(std::size_t) { return static_cast<T*>(block_pool<sizeof(T)>::instance().take()); }
  void deallocate(T* block, std::size_t) noexcept { block_pool<sizeof(T)>::instance().give(block); }
  friend bool operator==(const pool_allocator&, const pool_allocator&) noexcept { return true; }
};

}  // namespace interlock::inline v1::runtime
