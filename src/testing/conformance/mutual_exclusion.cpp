// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <atomic>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(mutual_exclusion);

TEST_P(mutual_exclusion, a_held_lock_is_seen_in_the_store_and_a_released_one_is_not) {
  const auto locks = store->connect();
  auto held = locks.acquire("orders/42");
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.state(), lock_state::held);
  EXPECT_TRUE(store->peek("orders/42"));
  EXPECT_TRUE(held.release());
  EXPECT_FALSE(store->peek("orders/42"));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.state(), lock_state::released);
}

TEST_P(mutual_exclusion, second_caller_is_told_busy_not_failed) {
  const auto first = store->connect();
  const auto held = first.acquire("orders/42");

  const auto second = store->connect();
  const auto reply = second.attempt("orders/42", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), errc::busy);
  EXPECT_FALSE(second.try_acquire("orders/42"));
  EXPECT_TRUE(store->inspect("orders/42").waiters.empty()) << "a try leaves nothing";
}

TEST_P(mutual_exclusion, a_wait_that_runs_out_is_busy_and_leaves_nothing_in_the_queue) {
  const auto first = store->connect(), second = store->connect();
  const auto held = first.acquire("orders/42");
  const auto begin = std::chrono::steady_clock::now();
  const auto reply = second.attempt("orders/42", {.wait = 200ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 190ms);
  EXPECT_TRUE(eventually([&] { return store->inspect("orders/42").waiters.empty(); }));
  EXPECT_TRUE(held.valid());
}

TEST_P(mutual_exclusion, callers_of_one_client_exclude_each_other_too) {
  const auto locks = store->connect();
  auto held = locks.acquire("orders/42");
  EXPECT_FALSE(locks.try_acquire("orders/42"));
  held = {};
  EXPECT_TRUE(locks.try_acquire("orders/42")) << "within a client nothing overtakes a queued release";
}

TEST_P(mutual_exclusion, different_names_do_not_get_in_each_others_way) {
  const auto first = store->connect(), second = store->connect();
  const auto one = first.acquire("orders/1");
  EXPECT_TRUE(second.try_acquire("orders/2"));
  EXPECT_TRUE(first.try_acquire("orders/3"));
}

TEST_P(mutual_exclusion, a_release_hands_over_to_the_one_who_waits) {
  const auto first = store->connect(), second = store->connect();
  auto held = first.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(second);
  EXPECT_FALSE(wait.ready());
  EXPECT_TRUE(held.release());
  const auto next = wait.get();
  EXPECT_TRUE(next.valid());
  EXPECT_TRUE(newer(next, held));
}

// The load and the store are two steps on purpose: only the lock makes them one.
TEST_P(mutual_exclusion, an_unprotected_counter_ends_at_the_right_number_and_tokens_only_rise) {
  constexpr unsigned clients = 3, threads = 3, rounds = 12;
  std::atomic<unsigned> counter{0};
  const bool tokens = store->traits().tokens;
  std::atomic<std::uint64_t> last_token{0};
  std::atomic<unsigned> failures{0};
  std::vector<client> hosts;
  for (unsigned i = 0; i < clients; ++i) hosts.push_back(store->connect());
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < clients * threads; ++i)
      workers.emplace_back([&, locks = hosts[i % clients]] {
        for (unsigned round = 0; round < rounds; ++round) {
          auto held = locks.attempt("counter", {.wait = 60s});
          if (!held) {
            ++failures;
            continue;
          }
          const auto seen = counter.load(std::memory_order_relaxed);
          if (tokens && held->token().value() <= last_token.exchange(held->token().value())) ++failures;
          std::this_thread::yield();
          counter.store(seen + 1, std::memory_order_relaxed);
          if (!held->release()) ++failures;
        }
      });
  }
  EXPECT_EQ(counter.load(), clients * threads * rounds);
  EXPECT_EQ(failures.load(), 0U);
  EXPECT_TRUE(becomes_free("counter"));
}

TEST_P(mutual_exclusion, a_semaphore_of_one_and_a_write_lock_exclude_as_a_mutex_does) {
  INTERLOCK_NEEDS(permits);
  const auto first = store->connect(), second = store->connect();
  const semaphore one(first, "gate", 1), same(second, "gate", 1);
  auto permit = one.acquire();
  EXPECT_FALSE(same.try_acquire());
  EXPECT_TRUE(permit.release());
  const auto theirs = same.acquire();
  EXPECT_FALSE(one.try_acquire());
  EXPECT_TRUE(newer(theirs, permit));
}

TEST_P(mutual_exclusion, a_moved_from_or_empty_guard_holds_nothing) {
  const auto locks = store->connect();
  guard nothing;
  EXPECT_FALSE(nothing.valid());
  EXPECT_EQ(nothing.state(), lock_state::empty);
  EXPECT_THROW(static_cast<void>(nothing.token()), lock_error);
  auto held = locks.acquire("orders/42");
  guard moved = std::move(held);
  EXPECT_TRUE(moved.valid());
  EXPECT_EQ(held.state(), lock_state::empty);  // NOLINT(bugprone-use-after-move): what it says after a move
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(store->peek("orders/42"));
}

}  // namespace interlock::inline v1::testing
