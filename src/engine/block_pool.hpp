// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

namespace interlock::inline v1::runtime {

/// Keeps a few freed blocks of one size for the next acquisition, so that lock and unlock in a loop allocate nothing.
/// Each thread has some at hand, which costs it no atomic instruction; what one thread frees and another needs goes
/// from hand to hand through the common ones. Process-wide and never destroyed: guards may outlive everything else.
template <std::size_t Size>
class block_pool {
 public:
  static void* take() {
    if (at_hand_.count == 0) fetch();
    return at_hand_.count > 0 ? at_hand_.blocks[--at_hand_.count] : ::operator new(Size);
  }
  static void give(void* block) noexcept {
    if (at_hand_.count == at_hand_.room && !make_room()) return ::operator delete(block);
    at_hand_.blocks[at_hand_.count++] = block;
  }

 private:
  static constexpr std::size_t hand = 64, most = 256;
  struct blocks_at_hand {
    std::size_t count, room;  // no room before the thread's end is watched
    bool ended;
    void* blocks[hand];
  };
  struct tidier {
    tidier() noexcept { at_hand_.room = hand; }
    tidier(const tidier&) = delete;
    tidier& operator=(const tidier&) = delete;
    ~tidier() {
      at_hand_.ended = true;
      put_away(0);
      at_hand_.room = 0;
    }
  };

  static block_pool& common() {
    static auto* one = new block_pool;
    return *one;
  }
  block_pool() { spare_.reserve(most); }

  [[gnu::noinline]] static void fetch() {
    auto& all = common();
    if (!make_room() || all.taken_.test_and_set(std::memory_order_acquire)) return;
    while (at_hand_.count < hand / 4 && !all.spare_.empty()) {
      at_hand_.blocks[at_hand_.count++] = all.spare_.back();
      all.spare_.pop_back();
    }
    all.taken_.clear(std::memory_order_release);
  }
  // false: the thread is ending.
  [[gnu::noinline]] static bool make_room() noexcept {
    if (at_hand_.ended) return false;
    static thread_local const tidier at_the_end;
    static_cast<void>(at_the_end);
    if (at_hand_.count == hand) put_away(hand / 2);
    return true;
  }
  static void put_away(std::size_t left) noexcept {
    auto& all = common();
    if (!all.taken_.test_and_set(std::memory_order_acquire)) {
      while (at_hand_.count > left && all.spare_.size() < most) all.spare_.push_back(at_hand_.blocks[--at_hand_.count]);
      all.taken_.clear(std::memory_order_release);
    }
    while (at_hand_.count > left) ::operator delete(at_hand_.blocks[--at_hand_.count]);
  }

  static inline constinit thread_local blocks_at_hand at_hand_{};
  std::atomic_flag taken_{};  // whoever finds it set does without them: cheaper than a mutex, and nobody waits
  std::vector<void*> spare_;
};

template <class T>
struct pool_allocator {
  using value_type = T;
  pool_allocator() noexcept = default;
  template <class U>
  pool_allocator(const pool_allocator<U>&) noexcept {}
  T* allocate(std::size_t) { return static_cast<T*>(block_pool<sizeof(T)>::take()); }
  void deallocate(T* block, std::size_t) noexcept { block_pool<sizeof(T)>::give(block); }
  friend bool operator==(const pool_allocator&, const pool_allocator&) noexcept { return true; }
};

}  // namespace interlock::inline v1::runtime
