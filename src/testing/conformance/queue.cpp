// SPDX-License-Identifier: MIT
#include "testing/conformance/asking.hpp"
#include "testing/conformance/suite.hpp"

#include <algorithm>
#include <atomic>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(queue);

TEST_P(queue, waiters_of_different_hosts_are_served_in_order_of_arrival) {
  INTERLOCK_NEEDS(fifo);
  const auto first = store->connect();
  auto held = first.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  for (int i = 0; i < 6; ++i) line.add(store->connect());
  EXPECT_TRUE(held.release());
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto next = line[i].get();
    for (std::size_t later = i + 1; later < line.size(); ++later) EXPECT_FALSE(line[later].ready()) << later;
    EXPECT_TRUE(next.release());
  }
}

TEST_P(queue, callers_of_one_client_are_served_in_order_of_arrival) {
  INTERLOCK_NEEDS(fifo);
  const auto locks = store->connect();
  auto held = locks.acquire("orders/42");
  std::vector<pending<guard>> line;
  for (int i = 0; i < 6; ++i) line.push_back(locks.async_acquire("orders/42"));
  EXPECT_TRUE(held.release());
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto next = line[i].get();
    for (std::size_t later = i + 1; later < line.size(); ++later) EXPECT_FALSE(line[later].ready()) << later;
    EXPECT_TRUE(next.release());
  }
}

TEST_P(queue, a_busy_process_does_not_keep_the_others_waiting_for_ever) {
  INTERLOCK_NEEDS(fifo);
  const auto greedy = store->connect(), other = store->connect();
  auto held = greedy.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  std::atomic<bool> stop{false};
  std::vector<std::jthread> crowd;
  for (int i = 0; i < 3; ++i)
    crowd.emplace_back([&] {
      while (!stop) static_cast<void>(greedy.acquire("orders/42", {.wait = 60s}));
    });
  auto& outsider = line.add(other);
  held = {};
  EXPECT_TRUE(eventually([&] { return outsider.ready(); })) << "the lock never left its process";
  stop = true;
  if (outsider.ready()) static_cast<void>(outsider.get());
}

TEST_P(queue, a_newcomer_that_only_tries_does_not_overtake_the_queue) {
  INTERLOCK_NEEDS(fifo);
  INTERLOCK_NEEDS(shared);
  const auto reader = store->connect(), writer = store->connect(), newcomer = store->connect();
  auto reads = reader.acquire("orders/42", {.mode = lock_mode::shared});
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(writer);
  EXPECT_FALSE(newcomer.try_acquire("orders/42", {.mode = lock_mode::shared})) << "it would fit, but others came first";
  EXPECT_TRUE(reads.release());
  EXPECT_TRUE(wait.get().valid());
}

TEST_P(queue, a_waiter_is_granted_although_every_push_is_lost) {
  auto deaf = store->join();
  const auto first = store->connect();
  auto held = first.acquire("orders/42");
  deaf.link->treat_pushes(fault_link::pushes::drop);
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(deaf.locks, {.lease = 2 * store->short_lease()});
  EXPECT_TRUE(held.release());
  ASSERT_TRUE(eventually([&] { return wait.ready(); })) << "nobody looked";
  EXPECT_TRUE(wait.get().valid());
}

TEST_P(queue, a_waiter_is_granted_after_a_holder_was_removed_behind_everybodys_back_and_no_push_came) {
  auto deaf = store->join();
  const auto first = store->connect();
  const auto robbed = first.acquire("orders/42");
  deaf.link->treat_pushes(fault_link::pushes::drop);
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(deaf.locks, {.lease = 2 * store->short_lease()});
  store->steal("orders/42");
  ASSERT_TRUE(eventually([&] { return wait.ready(); }));
  EXPECT_TRUE(newer(wait.get(), robbed));
}

TEST_P(queue, repeated_and_spurious_pushes_do_no_harm) {
  auto noisy = store->join();
  const auto first = store->connect();
  noisy.link->treat_pushes(fault_link::pushes::repeat);
  for (int round = 0; round < 3; ++round) {
    auto held = first.acquire("orders/42");
    queue_of_waiters line(*store, "orders/42");
    auto& wait = line.add(noisy.locks);
    EXPECT_TRUE(held.release());
    auto next = wait.get();
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(store->inspect("orders/42").holders.size(), 1U);
    EXPECT_TRUE(next.release());
  }
}

TEST_P(queue, a_push_reaches_a_waiter_long_before_its_fallback_timer_would) {
  INTERLOCK_NEEDS(push);
  const auto first = store->connect(), second = store->connect();
  std::vector<milliseconds> took;
  for (int round = 0; round < 5; ++round) {
    auto held = first.acquire("orders/42");
    queue_of_waiters line(*store, "orders/42");
    auto& wait = line.add(second);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(held.release());
    static_cast<void>(wait.get());
    took.push_back(std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - begin));
  }
  EXPECT_LT(*std::min_element(took.begin(), took.end()), 100ms);
}

// Claims entered past the engine are never renewed: they are as dead as if their process had been killed.
TEST_P(queue, dead_waiters_run_out_in_parallel_and_not_one_by_one) {
  INTERLOCK_NEEDS(fifo);
  const auto lease = store->short_lease();
  const auto live = store->connect();
  auto& waist = store->waist();
  store->waist_link().treat_pushes(fault_link::pushes::drop);
  ASSERT_EQ(enter(waist, fresh_claim("orders/42", lease))->is, standing::kind::held);
  constexpr int dead = 20;
  for (int i = 0; i < dead; ++i) ASSERT_EQ(enter(waist, fresh_claim("orders/42", lease))->is, standing::kind::waiting);
  const auto begin = std::chrono::steady_clock::now();
  const auto held = live.attempt("orders/42", {.wait = 20s});
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, dead * lease / 2);
}

TEST_P(queue, a_waiter_outlives_many_of_its_own_leases) {
  INTERLOCK_NEEDS(survey);
  const auto first = store->connect(), second = store->connect();
  auto held = first.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(second, {.lease = store->short_lease()});
  const auto place = store->inspect("orders/42").waiters.at(0).id;
  std::this_thread::sleep_for(4 * store->short_lease());
  EXPECT_EQ(store->inspect("orders/42").waiters.at(0).id, place) << "it lost its place";
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(wait.get().valid());
}

}  // namespace interlock::inline v1::testing
