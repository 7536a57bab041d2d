// SPDX-License-Identifier: MIT
#include <interlock/interlock.hpp>
#include <interlock/testing/sandbox.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace {

using namespace std::chrono_literals;
using interlock::errc;
using interlock::lock_state;

TEST(sandbox, a_lock_is_held_released_and_held_again_with_a_higher_token) {
  interlock::testing::sandbox box;
  auto locks = box.connect();
  auto first = locks.acquire("orders/42");
  const auto token = first.token();
  EXPECT_TRUE(first.valid());
  EXPECT_EQ(first.name(), "orders/42");
  EXPECT_TRUE(first.release());
  EXPECT_EQ(first.state(), lock_state::released);
  auto second = locks.acquire("orders/42");
  EXPECT_GT(second.token(), token);
}

TEST(sandbox, the_second_host_is_told_busy_and_gets_it_after_the_release) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  auto held = one.acquire("a");
  EXPECT_FALSE(two.try_acquire("a"));
  auto waiting = two.async_acquire("a");
  EXPECT_FALSE(waiting.ready());
  held = {};
  EXPECT_TRUE(waiting.ready());
  EXPECT_TRUE(waiting.get().valid());
}

TEST(sandbox, renewals_keep_a_lock_over_many_leases) {
  interlock::testing::sandbox box;
  auto one = box.connect();
  auto held = one.acquire("a", {.lease = 3s});
  for (int i = 0; i < 100; ++i) {
    box.advance(1s);
    ASSERT_TRUE(held.valid()) << i;
  }
}

TEST(sandbox, a_cut_link_means_jeopardy_then_loss_before_the_store_frees_it) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  auto held = one.acquire("a", {.lease = 3s});
  std::vector<lock_state> seen;
  auto listening = held.on_change([&](lock_state news) { seen.push_back(news); });
  auto waiting = two.async_acquire("a");
  box.cut(one);
  std::atomic<bool> lost_first{false};
  std::stop_callback on_loss(held.lost(), [&] { lost_first = !waiting.ready(); });
  box.advance(4s);
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(lost_first);
  EXPECT_EQ(held.why_lost(), interlock::loss_reason::lapsed);
  EXPECT_EQ(seen, (std::vector{lock_state::jeopardy, lock_state::lost}));
  ASSERT_TRUE(waiting.ready());
  EXPECT_GT(waiting.get().token(), held.token());
}

TEST(sandbox, a_link_that_heals_in_time_keeps_the_lock) {
  interlock::testing::sandbox box;
  auto one = box.connect();
  auto held = one.acquire("a", {.lease = 3s});
  box.cut(one);
  box.advance(2s);
  EXPECT_EQ(held.state(), lock_state::jeopardy);
  box.heal(one);
  box.advance(10s);
  EXPECT_EQ(held.state(), lock_state::held);
}

TEST(sandbox, a_broken_lock_is_noticed_at_the_next_renewal) {
  interlock::testing::sandbox box;
  auto one = box.connect();
  auto held = one.acquire("a", {.lease = 3s});
  box.break_lock("a");
  box.advance(2s);
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), interlock::loss_reason::store_reset);
  auto reply = held.release();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::lost);
}

TEST(sandbox, threads_of_one_process_pass_the_lock_on_with_rising_tokens) {
  interlock::testing::sandbox box;
  auto one = box.connect();
  auto first = one.acquire("a");
  auto second = one.async_acquire("a"), third = one.async_acquire("a");
  auto last = first.token();
  first = {};
  ASSERT_TRUE(second.ready());
  ASSERT_FALSE(third.ready());
  auto held = second.get();
  EXPECT_GT(held.token(), last);
  last = held.token();
  held = {};
  ASSERT_TRUE(third.ready());
  EXPECT_GT(third.get().token(), last);
}

TEST(sandbox, a_wait_that_runs_out_says_busy_and_leaves_nothing) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  auto held = one.acquire("a");
  auto waiting = two.async_acquire("a", {.wait = 500ms});
  box.advance(600ms);
  ASSERT_TRUE(waiting.ready());
  auto reply = waiting.get_result();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_TRUE(one.inspect("a").waiters.empty());
}

TEST(sandbox, silence_is_indeterminate_and_undone_when_the_link_is_back) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  box.cut(one);
  auto waiting = one.async_acquire("a", {.lease = 3s, .wait = 1s});
  box.advance(6s);
  ASSERT_TRUE(waiting.ready());
  EXPECT_EQ(waiting.get_result().error(), errc::indeterminate);
  box.heal(one);
  box.advance(2s);
  EXPECT_TRUE(two.inspect("a").holders.empty());
  EXPECT_TRUE(two.try_acquire("a"));
}

TEST(sandbox, readers_share_and_a_writer_waits) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  auto reader = one.acquire("a", {.mode = interlock::lock_mode::shared});
  auto other = two.acquire("a", {.mode = interlock::lock_mode::shared});
  auto writer = two.async_acquire("a");
  auto late = one.async_acquire("a", {.mode = interlock::lock_mode::shared});
  EXPECT_FALSE(writer.ready());
  EXPECT_FALSE(late.ready());
  reader = {};
  other = {};
  ASSERT_TRUE(writer.ready());
  EXPECT_FALSE(late.ready());
  { auto held = writer.get(); }
  EXPECT_TRUE(late.ready());
}

TEST(sandbox, an_owner_re_enters_with_the_same_token) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  const interlock::owner_id me("request 7");
  auto outer = one.acquire("a", {.owner = me});
  auto inner = one.acquire("a", {.owner = me});
  EXPECT_EQ(inner.token(), outer.token());
  EXPECT_TRUE(inner.release());
  EXPECT_FALSE(two.try_acquire("a"));
  EXPECT_TRUE(outer.release());
  EXPECT_TRUE(two.try_acquire("a"));
}

TEST(sandbox, max_hold_ends_a_hung_holder) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  auto held = one.acquire("a", {.lease = 1s, .max_hold = 5s});
  auto next = two.async_acquire("a");
  box.advance(4900ms);
  EXPECT_TRUE(held.valid());
  box.advance(200ms);
  EXPECT_EQ(held.why_lost(), interlock::loss_reason::overheld);
  EXPECT_FALSE(next.ready());
  box.advance(1500ms);
  EXPECT_TRUE(next.ready());
}

TEST(sandbox, close_hands_over_at_once) {
  interlock::testing::sandbox box;
  auto one = box.connect(), two = box.connect();
  auto held = one.acquire("a");
  auto next = two.async_acquire("a");
  one.close();
  EXPECT_EQ(held.why_lost(), interlock::loss_reason::closed);
  EXPECT_TRUE(next.ready());
  EXPECT_EQ(one.attempt("a").error(), errc::closed);
}

}  // namespace
