// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <interlock/cells.hpp>

#include <atomic>
#include <optional>

namespace interlock::inline v1::testing {

void keep_latches() {}
class latches : public store_test {
 protected:
  /// Another library's latch has to be set up before it is anything.
  [[nodiscard]] bool foreign() const {
    const auto* cells = store->waist().cells();
    return cells != nullptr && cells->limits().counts_only;
  }
  latch made(client locks, std::uint32_t count, const std::string& name = "start") const {
    latch one(std::move(locks), name, count);
    if (foreign()) one.create();
    return one;
  }
  [[nodiscard]] bool pushed() const { return store->waist().cells()->limits().push; }
};
INSTANTIATE_TEST_SUITE_P(, latches, ::testing::ValuesIn(registered_stores()),
                         [](const ::testing::TestParamInfo<std::string>& which) { return which.param; });

TEST_P(latches, a_store_without_latches_says_so) {
  if (store->traits().latches) GTEST_SKIP() << "this one has them";
  const latch one(store->connect(), "start", 2);
  const auto counted = one.attempt_count_down();
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error(), errc::unsupported) << counted.error().message();
  EXPECT_EQ(one.attempt_wait(0ms).error(), errc::unsupported);
}

TEST_P(latches, opens_when_all_have_counted_and_stays_open) {
  INTERLOCK_NEEDS(latches);
  const auto first = made(store->connect(), 3);
  const latch second(store->connect(), "start", 3);
  EXPECT_FALSE(second.try_wait());
  EXPECT_EQ(first.count_down(), 2U);
  EXPECT_EQ(second.count_down(2), 0U);
  EXPECT_TRUE(first.try_wait());
  EXPECT_TRUE(second.try_wait());
  first.wait();
  EXPECT_TRUE(latch(store->connect(), "start", 3).try_wait()) << "for those who come later, too";
}

TEST_P(latches, wakes_all_who_wait_on_every_host) {
  INTERLOCK_NEEDS(latches);
  const auto first = made(store->connect(), 2);
  const latch second(store->connect(), "start", 2), third(store->connect(), "start", 2);
  std::vector<pending<void>> waits;
  for (const auto* one : {&first, &second, &second, &third}) waits.push_back(one->async_wait());
  EXPECT_EQ(third.count_down(), 1U);
  std::this_thread::sleep_for(100ms);
  for (const auto& one : waits) EXPECT_FALSE(one.ready());
  third.count_down();
  for (auto& one : waits) EXPECT_TRUE(one.get_result());
}

TEST_P(latches, arriving_and_waiting_meets_everybody) {
  INTERLOCK_NEEDS(latches);
  constexpr std::uint32_t many = 4;
  const auto gate = made(store->connect(), many);
  std::atomic<std::uint32_t> arrived{0};
  std::vector<std::jthread> all;
  for (std::uint32_t i = 0; i < many; ++i)
    all.emplace_back([&] {
      const latch mine(store->connect(), "start", many);
      ++arrived;
      mine.arrive_and_wait();
      EXPECT_EQ(arrived, many);
    });
}

TEST_P(latches, no_count_is_lost_when_many_count_at_once) {
  INTERLOCK_NEEDS(latches);
  constexpr std::uint32_t hosts = 4, each = 10;
  const auto gate = made(store->connect(), hosts * each + 1);
  std::vector<std::jthread> all;
  for (std::uint32_t i = 0; i < hosts; ++i)
    all.emplace_back([&] {
      const latch mine(store->connect(), "start", hosts * each + 1);
      for (std::uint32_t n = 0; n < each; ++n) mine.count_down();
    });
  all.clear();
  EXPECT_EQ(gate.left(), 1U);
}

TEST_P(latches, counting_below_zero_is_refused_and_counts_nothing) {
  INTERLOCK_NEEDS(latches);
  const auto gate = made(store->connect(), 2);
  const auto three = gate.attempt_count_down(3);
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error(), errc::invalid_argument);
  EXPECT_EQ(gate.left(), 2U);
  gate.count_down(2);
  EXPECT_EQ(gate.attempt_count_down().error(), errc::invalid_argument);
  EXPECT_EQ(gate.count_down(0), 0U);
  EXPECT_TRUE(gate.try_wait());
}

TEST_P(latches, who_says_another_count_is_refused) {
  INTERLOCK_NEEDS(latches);
  const auto gate = made(store->connect(), 3);
  gate.count_down();
  const latch other(store->connect(), "start", foreign() ? 1 : 4);
  const auto counted = other.attempt_count_down();
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error(), errc::invalid_argument) << counted.error().message();
  EXPECT_EQ(other.attempt_wait(0ms).error(), errc::invalid_argument);
  EXPECT_THROW(other.create(), lock_error);
  EXPECT_EQ(gate.left(), 2U);
}

TEST_P(latches, is_made_once_and_can_be_set_back) {
  INTERLOCK_NEEDS(latches);
  const latch gate(store->connect(), "start", 2), same(store->connect(), "start", 2);
  EXPECT_TRUE(gate.create());
  EXPECT_FALSE(same.create());
  gate.count_down();
  EXPECT_FALSE(same.create());
  EXPECT_EQ(same.left(), 1U);
  same.reset();
  EXPECT_EQ(gate.left(), 2U);
  gate.count_down(2);
  EXPECT_TRUE(same.try_wait());
  gate.reset();
  EXPECT_FALSE(same.try_wait());
  EXPECT_EQ(same.count_down(), 1U);
}

TEST_P(latches, a_wait_that_is_over_is_told_from_one_that_was_cancelled) {
  INTERLOCK_NEEDS(latches);
  const auto locks = store->connect();
  const auto gate = made(locks, 1);
  EXPECT_FALSE(gate.wait_for(0ms));
  EXPECT_FALSE(gate.wait_for(150ms));
  EXPECT_EQ(gate.attempt_wait(10ms).error(), errc::busy);
  std::stop_source stop;
  auto wait = gate.async_wait({}, stop.get_token());
  std::this_thread::sleep_for(50ms);
  stop.request_stop();
  const auto ended = wait.get_result();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error(), errc::cancelled) << ended.error().message();
  EXPECT_EQ(gate.attempt_wait({}, stop.get_token()).error(), errc::cancelled);
  EXPECT_EQ(gate.left(), 1U);
}

TEST_P(latches, closing_the_client_ends_its_waits) {
  INTERLOCK_NEEDS(latches);
  const auto locks = store->connect();
  const auto gate = made(locks, 1);
  auto wait = gate.async_wait();
  std::this_thread::sleep_for(50ms);
  locks.close();
  EXPECT_EQ(wait.get_result().error(), errc::cancelled);
  EXPECT_EQ(gate.attempt_count_down().error(), errc::closed);
}

TEST_P(latches, a_lost_answer_does_not_count_twice) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 3);
  host.link->lose_replies(request::cell_write);
  EXPECT_EQ(gate.count_down(), 2U);
  EXPECT_GE(host.link->sent(request::cell_write), 2U);
  EXPECT_EQ(gate.left(), 2U);
  host.link->lose_requests(request::cell_write);
  EXPECT_EQ(gate.count_down(), 1U);
  EXPECT_EQ(gate.left(), 1U);
}

TEST_P(latches, a_lost_answer_does_not_count_twice_while_others_count) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 5);
  const latch other(store->connect(), "start", 5);
  host.link->lose_replies(request::cell_write);
  std::jthread counts([&] { gate.count_down(); });
  ASSERT_TRUE(eventually([&] { return other.left() == 4; }));
  EXPECT_EQ(other.count_down(2), 2U);
  counts.join();
  EXPECT_EQ(other.left(), 2U);
}

TEST_P(latches, a_count_that_arrives_late_does_not_count_twice) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 4);
  host.link->hold_back_cell_writes();
  EXPECT_EQ(gate.count_down(), 3U);
  host.link->let_late_enters_arrive();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(gate.left(), 3U);

  const latch other(store->connect(), "start", 4);
  host.link->hold_back_cell_writes();
  std::jthread counts([&] { gate.count_down(); });
  ASSERT_TRUE(eventually([&] { return host.link->sent(request::cell_write) >= 3; }));
  other.count_down();
  counts.join();
  host.link->let_late_enters_arrive();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(other.left(), 1U);
}

TEST_P(latches, silence_is_not_an_answer) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join({.patience = 300ms});
  const auto gate = made(host.locks, 2);
  host.link->lose_replies(request::cell_write, 100);
  const auto counted = gate.attempt_count_down();
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error(), errc::indeterminate) << counted.error().message();
  host.link->lose_replies(request::cell_write, 0);
  EXPECT_EQ(gate.left(), 1U) << "it did happen, and once";
  host.link->cut();
  const auto waited = gate.attempt_wait(10s);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error(), errc::unavailable) << waited.error().message();
}

TEST_P(latches, a_link_that_is_known_to_be_down_is_unavailable_and_nothing_was_counted) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join({.patience = 300ms});
  const auto gate = made(host.locks, 2);
  host.link->refuse();
  EXPECT_EQ(gate.attempt_count_down().error(), errc::unavailable);
  host.link->heal();
  EXPECT_EQ(gate.left(), 2U);
}

TEST_P(latches, a_wait_survives_a_link_that_comes_back) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 1);
  const latch other(store->connect(), "start", 1);
  auto wait = gate.async_wait();
  std::this_thread::sleep_for(50ms);
  host.link->refuse();
  other.count_down();
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(wait.ready());
  host.link->heal();
  EXPECT_TRUE(wait.get_result());
}

TEST_P(latches, a_hint_that_is_lost_only_costs_time) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 1);
  host.link->treat_pushes(fault_link::pushes::drop);
  auto wait = gate.async_wait(30s);
  std::this_thread::sleep_for(100ms);
  latch(store->connect(), "start", 1).count_down();
  EXPECT_TRUE(wait.get_result());
}

TEST_P(latches, many_who_wait_cost_no_more_than_one) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 1);
  if (!pushed()) GTEST_SKIP() << "this store tells nobody, so they have to look";
  std::vector<pending<void>> waits;
  for (int i = 0; i < 50; ++i) waits.push_back(gate.async_wait());
  std::this_thread::sleep_for(300ms);
  const auto before = host.link->sent(request::cell_read);
  std::this_thread::sleep_for(2s);
  EXPECT_LE(host.link->sent(request::cell_read) - before, 2U);
  latch(store->connect(), "start", 1).count_down();
  for (auto& one : waits) EXPECT_TRUE(one.get_result());
  EXPECT_LE(host.link->sent(request::cell_read) - before, 8U);
}

TEST_P(latches, a_wait_that_is_dropped_leaves_nothing_behind) {
  INTERLOCK_NEEDS(latches);
  auto host = store->join();
  const auto gate = made(host.locks, 1);
  { const auto dropped = gate.async_wait(); }
  std::optional<pending<void>> wait(gate.async_wait());
  std::this_thread::sleep_for(50ms);
  wait.reset();
  gate.count_down();
  EXPECT_TRUE(gate.try_wait());
}

TEST_P(latches, names_and_counts_are_checked_and_prefixes_keep_them_apart) {
  INTERLOCK_NEEDS(latches);
  const auto locks = store->connect(), one = store->connect({.prefix = "one/"});
  EXPECT_THROW(latch(locks, "start", 0), lock_error);
  EXPECT_THROW(latch(locks, "start", latch::count_max + 1), lock_error);
  for (const auto& name : {std::string{}, std::string("a\nb"), std::string("\xff"), std::string(2000, 'a')})
    for (const auto& from : {locks, one})
      EXPECT_EQ(latch(from, name, 1).attempt_count_down().error(), errc::invalid_argument);
  const auto mine = made(one, 2, "start");
  mine.count_down();
  EXPECT_EQ(made(locks, 2, "start").left(), 2U);
  EXPECT_EQ(made(locks, 2, "one/start").left(), 1U);
}

TEST_P(latches, continues_where_callbacks_run) {
  INTERLOCK_NEEDS(latches);
  const auto gate = made(store->connect(), 1);
  std::atomic<int> opened{0};
  gate.async_wait().then([&](const result<void>& got) { opened = got ? 1 : -1; });
  gate.count_down();
  EXPECT_TRUE(eventually([&] { return opened == 1; }));
}

}  // namespace interlock::inline v1::testing
