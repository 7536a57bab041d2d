// SPDX-License-Identifier: MIT
#include "engine/block_pool.hpp"

#include <gtest/gtest.h>

#include <list>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace interlock::runtime {
namespace {

/// Each test has a size, hence a pool, of its own.
template <std::size_t Size>
std::vector<void*> taken(std::size_t count) {
  std::vector<void*> out(count);
  for (auto& one : out) one = block_pool<Size>::take();
  return out;
}

template <std::size_t Size>
void give_back(const std::vector<void*>& all) {
  for (auto* one : all) block_pool<Size>::give(one);
}

std::set<void*> as_set(const std::vector<void*>& all) { return {all.begin(), all.end()}; }

/// Takes what the heap would give next: a block that had gone back there is not to be had afterwards.
template <std::size_t Size>
struct heap_taken {
  std::vector<void*> blocks;
  explicit heap_taken(std::size_t count) : blocks(count) {
    for (auto& one : blocks) one = ::operator new(Size);
  }
  heap_taken(const heap_taken&) = delete;
  heap_taken& operator=(const heap_taken&) = delete;
  ~heap_taken() {
    for (auto* one : blocks) ::operator delete(one);
  }
};

TEST(block_pool, what_was_freed_is_used_again) {
  const auto first = taken<48>(60);
  EXPECT_EQ(as_set(first).size(), first.size());
  give_back<48>(first);
  const heap_taken<48> others(100);
  const auto second = taken<48>(60);
  EXPECT_EQ(as_set(second), as_set(first));
  give_back<48>(second);
}

TEST(block_pool, more_than_a_thread_keeps_at_hand_is_used_again) {
  const auto first = taken<56>(200);
  give_back<56>(first);
  const heap_taken<56> others(300);
  const auto second = taken<56>(200);
  EXPECT_EQ(as_set(second), as_set(first));
  give_back<56>(second);
}

TEST(block_pool, what_a_thread_had_at_hand_is_there_for_others_when_it_has_ended) {
  std::vector<void*> first;
  std::thread([&] {
    first = taken<72>(20);
    give_back<72>(first);
  }).join();
  std::vector<void*> second;
  std::thread([&] {
    const heap_taken<72> others(100);
    second = taken<72>(20);
    give_back<72>(second);
  }).join();
  EXPECT_EQ(as_set(second), as_set(first));
}

TEST(block_pool, blocks_go_from_the_threads_that_free_them_to_those_that_need_them) {
  std::set<void*> all;
  std::list<heap_taken<88>> others;
  for (int round = 0; round < 50; ++round) {
    const auto mine = taken<88>(10);
    all.insert(mine.begin(), mine.end());
    std::thread([&] { give_back<88>(mine); }).join();
    others.emplace_back(20);
  }
  EXPECT_LE(all.size(), 40U) << "each round got new memory";
}

/// Destroyed after the thread's blocks were put away: its own block must not be kept for a thread that has gone.
struct late {
  void* block = nullptr;
  late() = default;
  late(const late&) = delete;
  late& operator=(const late&) = delete;
  ~late() {
    block_pool<104>::give(block);
    block_pool<104>::give(block_pool<104>::take());
  }
};

TEST(block_pool, can_be_used_while_a_thread_ends) {
  std::thread([] {
    static thread_local late last;
    last.block = block_pool<104>::take();
    give_back<104>(taken<104>(3));
  }).join();
}  // the leak checker says the rest

}  // namespace
}  // namespace interlock::runtime
