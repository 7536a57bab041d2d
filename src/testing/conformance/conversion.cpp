// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(conversion);

TEST_P(conversion, a_store_that_cannot_convert_refuses_and_keeps_the_hold) {
  if (store->traits().convert || !store->traits().shared) GTEST_SKIP() << "it converts, or has nothing to convert";
  auto held = store->connect().acquire("orders/42", shared_now);
  EXPECT_EQ(held.upgrade().error(), errc::unsupported);
  EXPECT_TRUE(held.valid());
}

TEST_P(conversion, a_lone_reader_becomes_the_writer_with_a_new_token) {
  INTERLOCK_NEEDS(convert);
  const auto first = store->connect(), second = store->connect();
  auto held = first.acquire("orders/42", shared_now);
  const auto before = held.token();
  EXPECT_TRUE(held.upgrade());
  EXPECT_EQ(held.mode(), lock_mode::exclusive);
  EXPECT_GT(held.token(), before);
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(second.try_acquire("orders/42", {.mode = lock_mode::shared}));
}

TEST_P(conversion, an_upgrade_among_readers_is_busy_at_once_and_keeps_reading) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42", shared_now);
  const auto other = store->connect().acquire("orders/42", shared_now);
  const auto reply = held.upgrade();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_EQ(held.mode(), lock_mode::shared);
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(store->inspect("orders/42").holders.size(), 2U);
}

TEST_P(conversion, an_upgrade_that_waits_is_served_before_everybody_else) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42", shared_now);
  auto other = store->connect().acquire("orders/42", shared_now);
  queue_of_waiters line(*store, "orders/42");
  auto& writer = line.add(store->connect());
  std::jthread leaves([&] {
    std::this_thread::sleep_for(100ms);
    EXPECT_TRUE(other.release());
  });
  const auto reply = held.upgrade(20s);
  EXPECT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(held.mode(), lock_mode::exclusive);
  EXPECT_FALSE(writer.ready());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(writer.get().valid());
}

TEST_P(conversion, an_upgrade_whose_wait_runs_out_is_busy_and_lets_readers_in_again) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42", shared_now);
  const auto other = store->connect().acquire("orders/42", shared_now);
  const auto reply = held.upgrade(100ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_EQ(held.mode(), lock_mode::shared);
  EXPECT_TRUE(store->connect().attempt("orders/42", {.mode = lock_mode::shared, .wait = 10s}));
}

TEST_P(conversion, the_second_upgrader_is_told_deadlock_at_once) {
  INTERLOCK_NEEDS(convert);
  auto first = store->connect().acquire("orders/42", shared_now);
  auto second = store->connect().acquire("orders/42", shared_now);
  std::jthread upgrades([&] { EXPECT_TRUE(first.upgrade(30s)); });
  ASSERT_TRUE(eventually([&] {
    const auto reply = second.upgrade(0ms);  // busy until the first one queues
    EXPECT_FALSE(reply);
    return !reply && reply.error() == errc::deadlock;
  }));
  EXPECT_EQ(second.mode(), lock_mode::shared);
  EXPECT_TRUE(second.release());
}

TEST_P(conversion, an_upgrade_can_be_cancelled) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42", shared_now);
  const auto other = store->connect().acquire("orders/42", shared_now);
  std::stop_source change_of_mind;
  std::jthread soon([&] {
    std::this_thread::sleep_for(50ms);
    change_of_mind.request_stop();
  });
  const auto reply = held.upgrade(30s, change_of_mind.get_token());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::cancelled);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(store->connect().attempt("orders/42", {.mode = lock_mode::shared, .wait = 10s}));
}

TEST_P(conversion, a_downgrade_leaves_no_gap_for_a_waiting_writer) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& writer = line.add(store->connect());
  EXPECT_TRUE(held.downgrade());
  EXPECT_EQ(held.mode(), lock_mode::shared);
  EXPECT_TRUE(held.valid());
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(writer.ready()) << "a writer was admitted while a reader reads";
  EXPECT_EQ(store->inspect("orders/42").holders.size(), 1U);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(writer.get().valid());
}

TEST_P(conversion, a_downgrade_lets_the_readers_at_the_head_of_the_queue_in) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& reader = line.add(store->connect(), {.mode = lock_mode::shared});
  EXPECT_TRUE(held.downgrade());
  EXPECT_TRUE(reader.get().valid());
  EXPECT_TRUE(held.valid());
}

TEST_P(conversion, a_new_hold_after_an_upgrade_and_a_downgrade_is_still_renewed) {
  INTERLOCK_NEEDS(convert);
  const auto lease = 2 * store->short_lease();
  auto held = store->connect().acquire("orders/42", {.lease = lease, .mode = lock_mode::shared});
  EXPECT_TRUE(held.upgrade());
  EXPECT_TRUE(held.downgrade());
  std::this_thread::sleep_for(2 * lease);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(store->peek("orders/42"));
}

TEST_P(conversion, what_is_lost_cannot_be_converted) {
  INTERLOCK_NEEDS(convert);
  auto held = store->connect().acquire("orders/42", {.lease = store->short_lease(), .mode = lock_mode::shared});
  store->steal("orders/42");
  const auto reply = held.upgrade();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::lost);
  EXPECT_FALSE(store->peek("orders/42"));
}

}  // namespace interlock::inline v1::testing
