// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <atomic>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(ownership);

TEST_P(ownership, a_late_release_does_not_take_the_lock_from_the_next_holder) {
  auto old = store->join();
  const auto next = store->connect();
  auto late = old.locks.acquire("orders/42", {.lease = store->short_lease()});
  old.link->cut();
  const auto held = next.acquire("orders/42");
  old.link->heal();
  EXPECT_EQ(late.release().error(), errc::lost);
  late = {};
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(is_held_by(held));
  EXPECT_TRUE(held.valid());
}

TEST_P(ownership, a_repeated_release_changes_nothing_of_the_next_holder) {
  const auto first = store->connect(), second = store->connect();
  auto once = first.acquire("orders/42");
  EXPECT_TRUE(once.release());
  const auto next = second.acquire("orders/42");
  EXPECT_TRUE(once.release()) << "a released guard does nothing";
  EXPECT_TRUE(store->peek("orders/42"));
  EXPECT_TRUE(is_held_by(next));
}

TEST_P(ownership, a_renewal_never_brings_back_what_was_removed) {
  const auto locks = store->connect();
  const auto held = locks.acquire("orders/42", {.lease = store->short_lease()});
  store->steal("orders/42");
  for (int i = 0; i < 20; ++i) {
    ASSERT_FALSE(store->peek("orders/42"));
    std::this_thread::sleep_for(store->short_lease() / 10);
  }
  EXPECT_FALSE(held.valid());
}

TEST_P(ownership, a_renewal_does_not_touch_the_next_holder) {
  auto host = store->join();
  const auto next = store->connect();
  const auto robbed = host.locks.acquire("orders/42", {.lease = store->short_lease()});
  store->steal("orders/42");
  const auto held = next.acquire("orders/42");
  EXPECT_TRUE(eventually([&] { return !robbed.valid(); }));
  EXPECT_TRUE(is_held_by(held));
}

TEST_P(ownership, nothing_is_renewed_after_its_release) {
  auto host = store->join();
  const auto lease = store->short_lease();
  for (int round = 0; round < 3; ++round) {
    auto held = host.locks.acquire("orders/42", {.lease = lease});
    std::this_thread::sleep_for(lease / 2);
    EXPECT_TRUE(held.release());
  }
  std::this_thread::sleep_for(lease / 4);  // a renewal that was under way
  const auto before = host.link->sent(request::look);
  std::this_thread::sleep_for(2 * lease);
  EXPECT_EQ(host.link->sent(request::look), before);
}

TEST_P(ownership, a_release_racing_the_first_renewal_leaves_nothing) {
  const auto locks = store->connect();
  const auto lease = std::max(30ms, store->traits().lease_min);
  for (int round = 0; round < 40; ++round) {
    auto held = locks.attempt("orders/42", {.lease = lease, .wait = 10s});
    ASSERT_TRUE(held) << held.error().message();
    std::this_thread::sleep_for(lease / 3 - 2ms + milliseconds(round % 5));
    static_cast<void>(held->release());
  }
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(ownership, a_guard_may_be_released_by_any_thread) {
  const auto locks = store->connect();
  auto held = locks.acquire("orders/42");
  std::jthread([&] { EXPECT_TRUE(held.release()); }).join();
  EXPECT_FALSE(store->peek("orders/42"));
}

}  // namespace interlock::inline v1::testing
