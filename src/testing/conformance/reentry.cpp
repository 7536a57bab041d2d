// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <mutex>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(reentry);

TEST_P(reentry, the_same_owner_gets_the_same_token_and_frees_at_the_last_release) {
  const auto locks = store->connect(), other = store->connect();
  const owner_id me("request 7");
  auto outer = locks.acquire("orders/42", {.owner = me});
  auto inner = locks.attempt("orders/42", {.owner = me, .wait = 0ms});
  ASSERT_TRUE(inner) << inner.error().message();
  if (store->traits().tokens) {
    EXPECT_EQ(inner->token(), outer.token());
  }
  EXPECT_TRUE(outer.release());
  EXPECT_TRUE(inner->valid());
  EXPECT_TRUE(store->peek("orders/42")) << "freed at the last release only";
  EXPECT_FALSE(other.try_acquire("orders/42"));
  EXPECT_TRUE(inner->release());
  EXPECT_FALSE(store->peek("orders/42"));
}

TEST_P(reentry, another_owner_or_no_owner_is_busy) {
  const auto locks = store->connect();
  const auto held = locks.acquire("orders/42", {.owner = owner_id("request 7")});
  EXPECT_FALSE(locks.try_acquire("orders/42", {.owner = owner_id("request 8")}));
  EXPECT_FALSE(locks.try_acquire("orders/42"));
}

TEST_P(reentry, the_owner_re_enters_although_others_wait) {
  const auto locks = store->connect();
  const owner_id me = owner_id::random();
  const auto outer = locks.acquire("orders/42", {.owner = me});
  queue_of_waiters line(*store, "orders/42");
  line.add(store->connect());
  EXPECT_TRUE(locks.attempt("orders/42", {.owner = me, .wait = 0ms})) << "waiting for itself would never end";
}

TEST_P(reentry, after_a_loss_every_level_says_lost_and_the_owner_can_begin_anew) {
  const auto locks = store->connect();
  const owner_id me("request 7");
  auto outer = locks.acquire("orders/42", {.lease = store->short_lease(), .owner = me});
  auto inner = locks.acquire("orders/42", {.lease = store->short_lease(), .owner = me});
  store->steal("orders/42");
  EXPECT_TRUE(eventually([&] { return outer.lost().stop_requested() && inner.lost().stop_requested(); }));
  EXPECT_EQ(inner.release().error(), errc::lost);
  EXPECT_EQ(outer.release().error(), errc::lost);
  const auto again = locks.acquire("orders/42", {.owner = me});
  EXPECT_TRUE(newer(again, outer));
}

TEST_P(reentry, a_recursive_mutex_counts_its_depth_for_the_thread_that_owns_it) {
  const auto locks = store->connect();
  recursive_mutex orders{locks, "orders/42"};
  EXPECT_EQ(orders.depth(), 0U);
  orders.lock();
  const auto id = orders.hold().id();
  {
    const std::scoped_lock again{orders};
    EXPECT_EQ(orders.depth(), 2U);
    EXPECT_EQ(orders.hold().id(), id);
    std::jthread([&] { EXPECT_FALSE(orders.try_lock()) << "another thread is another owner"; }).join();
  }
  EXPECT_EQ(orders.depth(), 1U);
  EXPECT_TRUE(store->peek("orders/42"));
  std::jthread([&] { orders.unlock(); }).join();
  EXPECT_TRUE(store->peek("orders/42")) << "a stranger's unlock does nothing";
  orders.unlock();
  EXPECT_EQ(orders.depth(), 0U);
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(reentry, a_logical_owner_may_lock_and_unlock_from_different_threads) {
  const auto locks = store->connect();
  recursive_mutex orders{locks, "orders/42", {.owner = owner_id("transaction 9")}};
  orders.lock();
  std::jthread([&] {
    EXPECT_TRUE(orders.try_lock());
    orders.unlock();
  }).join();
  EXPECT_EQ(orders.depth(), 1U);
  orders.unlock();
  EXPECT_TRUE(becomes_free("orders/42"));
}

}  // namespace interlock::inline v1::testing
