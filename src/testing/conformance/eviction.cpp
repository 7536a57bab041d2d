// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(eviction);

TEST_P(eviction, an_evicted_holder_is_told_and_the_next_is_granted_only_when_it_no_longer_believes) {
  INTERLOCK_NEEDS(survey);
  event_log log;
  const auto first = store->connect({.observer = log.writer()}), second = store->connect();
  const auto held = first.acquire("orders/42", {.lease = 2 * store->short_lease()});
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(second);
  EXPECT_TRUE(store->onlooker().evict("orders/42", held.id()));
  const auto next = wait.get();
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.why_lost(), loss_reason::broken);
  EXPECT_TRUE(eventually([&] { return log.count(event_kind::lost) == 1; }));
  EXPECT_EQ(log.last_loss(), loss_reason::broken);
  EXPECT_TRUE(newer(next, held));
}

TEST_P(eviction, a_gently_evicted_claim_stays_until_its_lease_is_over_although_its_holder_cannot_be_told) {
  INTERLOCK_NEEDS(survey);
  auto deaf = store->join();
  const auto rival = store->connect();
  const auto held = deaf.locks.acquire("orders/42", {.lease = 2 * store->short_lease()});
  deaf.link->cut();
  EXPECT_TRUE(store->onlooker().evict("orders/42", held.id()));
  std::optional<guard> next;
  while (!next) next = rival.try_acquire("orders/42");
  EXPECT_FALSE(held.valid());
}

TEST_P(eviction, a_forced_eviction_frees_at_once_and_the_token_protects) {
  INTERLOCK_NEEDS(survey);
  const auto first = store->connect(), second = store->connect();
  const auto held = first.acquire("orders/42");
  EXPECT_TRUE(second.evict_by_force("orders/42", held.id()));
  const auto next = second.attempt("orders/42", {.wait = 0ms});
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_TRUE(newer(*next, held));
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.why_lost(), loss_reason::broken);
}

TEST_P(eviction, exactly_the_holder_named_is_evicted) {
  INTERLOCK_NEEDS(survey);
  INTERLOCK_NEEDS(shared);
  const auto one = store->connect().acquire("orders/42", {.mode = lock_mode::shared});
  const auto two = store->connect().acquire("orders/42", {.mode = lock_mode::shared});
  EXPECT_TRUE(store->onlooker().evict_by_force("orders/42", two.id()));
  EXPECT_TRUE(eventually([&] { return !two.valid(); }));
  EXPECT_TRUE(one.valid());
  const auto left = store->inspect("orders/42").holders;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].id, one.id());
}

TEST_P(eviction, a_claim_that_has_gone_cannot_be_evicted_and_its_successor_is_safe) {
  INTERLOCK_NEEDS(survey);
  const auto first = store->connect(), second = store->connect();
  auto old = first.acquire("orders/42");
  const auto id = old.id();
  EXPECT_TRUE(old.release());
  const auto held = second.acquire("orders/42");
  EXPECT_NE(held.id(), id);
  EXPECT_FALSE(store->onlooker().evict("orders/42", id));
  EXPECT_FALSE(store->onlooker().evict_by_force("orders/42", id));
  EXPECT_FALSE(store->onlooker().evict_by_force("orders/43", held.id())) << "right claim, wrong name";
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(store->peek("orders/42"));
}

TEST_P(eviction, an_evicted_waiter_ends_with_lost_and_the_one_behind_moves_up) {
  INTERLOCK_NEEDS(survey);
  auto held = store->connect().acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& evicted = line.add(store->connect());
  auto& behind = line.add(store->connect());
  const auto id = store->inspect("orders/42").waiters.at(0).id;
  EXPECT_TRUE(store->onlooker().evict("orders/42", id));
  const auto reply = evicted.get_result();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::lost) << reply.error().message();
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(behind.get().valid());
}

TEST_P(eviction, an_evicted_holder_can_queue_again) {
  INTERLOCK_NEEDS(survey);
  const auto locks = store->connect();
  const auto held = locks.acquire("orders/42");
  EXPECT_TRUE(store->onlooker().evict_by_force("orders/42", held.id()));
  const auto again = locks.attempt("orders/42", {.wait = 10s});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(again->valid());
  EXPECT_FALSE(held.valid());
}

}  // namespace interlock::inline v1::testing
