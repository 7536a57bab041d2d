// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <array>
#include <atomic>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(several_names);

TEST_P(several_names, all_are_held_together_and_found_in_the_callers_order) {
  const auto locks = store->connect();
  auto both = locks.acquire_all({"orders", "accounts", "orders"});
  EXPECT_EQ(both.size(), 3U);
  EXPECT_EQ(both[0].name(), "orders");
  EXPECT_EQ(both[1].name(), "accounts");
  EXPECT_EQ(&both[0], &both[2]) << "a name given twice is one hold";
  EXPECT_EQ(&both.at("accounts"), &both[1]);
  EXPECT_THROW(static_cast<void>(both.at("stock")), lock_error);
  EXPECT_TRUE(both.valid());
  EXPECT_TRUE(store->peek("orders"));
  EXPECT_TRUE(store->peek("accounts"));
  EXPECT_TRUE(both.release());
  EXPECT_FALSE(store->peek("orders"));
  EXPECT_FALSE(store->peek("accounts"));
}

TEST_P(several_names, one_busy_name_means_none_is_held) {
  const auto first = store->connect(), second = store->connect();
  const auto held = first.acquire("b");
  const std::array<wanted, 3> names{"c", "b", "a"};
  const auto reply = second.attempt_all(names, {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_TRUE(eventually([&] { return !store->peek("a") && !store->peek("c"); }));
}

TEST_P(several_names, the_wait_is_for_all_of_them_together) {
  const auto first = store->connect(), second = store->connect();
  const auto a = first.acquire("a"), b = first.acquire("b");
  const std::array<wanted, 2> names{"a", "b"};
  const auto begin = std::chrono::steady_clock::now();
  const auto reply = second.attempt_all(names, {.wait = 300ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 290ms);
  EXPECT_TRUE(eventually([&] { return store->inspect("a").waiters.empty() && store->inspect("b").waiters.empty(); }));
}

TEST_P(several_names, opposite_orders_do_not_deadlock) {
  const auto first = store->connect(), second = store->connect();
  std::atomic<int> inside{0}, meetings{0}, done{0};
  const auto work = [&](const client& locks, std::array<wanted, 2> names) {
    for (int round = 0; round < 15; ++round) {
      const auto both = locks.attempt_all(names, {.wait = 60s});
      if (!both) return;
      if (++inside > 1) ++meetings;
      std::this_thread::yield();
      --inside;
      ++done;
    }
  };
  {
    std::jthread one([&] { work(first, {"a", "b"}); }), two([&] { work(second, {"b", "a"}); });
  }
  EXPECT_EQ(meetings, 0);
  EXPECT_EQ(done, 30);
}

TEST_P(several_names, an_exclusive_wish_wins_over_a_shared_one_for_the_same_name) {
  INTERLOCK_NEEDS(shared);
  const auto locks = store->connect();
  const auto both = locks.acquire_all({{"a", lock_mode::shared}, "a", {"b", lock_mode::shared}});
  EXPECT_EQ(both.at("a").mode(), lock_mode::exclusive);
  EXPECT_EQ(both.at("b").mode(), lock_mode::shared);
  EXPECT_TRUE(store->connect().try_acquire("b", {.mode = lock_mode::shared}));
}

TEST_P(several_names, losing_one_is_losing_the_set) {
  const auto locks = store->connect();
  auto both = locks.acquire_all({"a", "b"}, {.lease = store->short_lease()});
  const bool alone = knows_claims("b");  // else its connection goes, and the rest with it
  store->steal("b");
  EXPECT_TRUE(eventually([&] { return both.lost().stop_requested(); }));
  EXPECT_FALSE(both.valid());
  EXPECT_EQ(both.at("a").valid(), alone);
  EXPECT_EQ(both.release().error(), errc::lost);
  EXPECT_TRUE(becomes_free("a"));
}

TEST_P(several_names, a_bad_name_among_them_changes_nothing) {
  const auto locks = store->connect();
  const std::array<wanted, 2> names{"a", ""};
  const auto reply = locks.attempt_all(names);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::invalid_argument);
  EXPECT_TRUE(store->empty({"a"}));
}

TEST_P(several_names, a_cancelled_wait_for_several_leaves_none) {
  const auto first = store->connect(), second = store->connect();
  const auto held = first.acquire("b");
  std::stop_source change_of_mind;
  const std::array<wanted, 3> names{"a", "b", "c"};
  auto wait = second.async_acquire_all(names, {}, change_of_mind.get_token());
  ASSERT_TRUE(eventually([&] { return store->waiting("b") > 0; }));
  EXPECT_TRUE(store->peek("a"));
  change_of_mind.request_stop();
  EXPECT_EQ(wait.get_result().error(), errc::cancelled);
  EXPECT_TRUE(becomes_free("a"));
  EXPECT_TRUE(eventually([&] { return store->inspect("b").waiters.empty(); }));
}

}  // namespace interlock::inline v1::testing
