// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_SQLITE

#include "support/agent.hpp"
#include "support/sqlite_file.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::agent;
using clock = std::chrono::steady_clock;

/// Real processes on one store.
struct processes : ::testing::Test {
  agent start(const char* verb, milliseconds lease, const std::string& name = "orders/42") {
    return agent({verb, file.url(), name, std::to_string(lease.count())});
  }
  static fencing_token token(const std::optional<std::string>& text) {
    EXPECT_TRUE(text) << "it never held the lock";
    return parse_token(text.value_or("")).value_or(fencing_token{0});
  }
  std::size_t waiters() const { return locks.inspect("orders/42").waiters.size(); }
  bool becomes(std::size_t count) const {
    for (int i = 0; i < 2000 && waiters() != count; ++i) std::this_thread::sleep_for(10ms);
    return waiters() == count;
  }

  test_support::sqlite_file file;
  client locks{file.url()};
};

TEST_F(processes, a_waiter_takes_over_from_a_holder_killed_with_minus_9) {
  auto holder = start("hold", 1000ms);
  const auto first = token(holder.after("held"));
  auto waiter = start("hold", 1000ms);
  ASSERT_TRUE(becomes(1));
  const auto killed = clock::now();
  holder.kill();
  const auto second = token(waiter.after("held"));
  EXPECT_LT(clock::now() - killed, 1000ms + 250ms + 2s) << "a lease, the store's tick, and slack for a loaded machine";
  EXPECT_GT(second, first);
}

TEST_F(processes, a_waiter_of_this_process_takes_over_too) {
  auto holder = start("hold", 1000ms);
  const auto first = token(holder.after("held"));
  auto wait = locks.async_acquire("orders/42");
  ASSERT_TRUE(becomes(1));
  holder.kill();
  EXPECT_GT(wait.get().token(), first);
}

TEST_F(processes, a_frozen_holder_knows_at_its_first_question_that_it_has_lost_and_its_late_write_is_refused) {
  fenced_file resource(file.folder() / "resource");
  auto frozen = start("hold", 600ms);
  const auto stale = token(frozen.after("held"));
  frozen.say("valid");
  EXPECT_TRUE(frozen.after("valid"));
  frozen.freeze();
  const auto held = locks.acquire("orders/42");
  EXPECT_GT(held.token(), stale);
  EXPECT_TRUE(resource.write(held.token(), "by the new holder"));
  frozen.say("valid");
  frozen.say("write " + (file.folder() / "resource").string());
  frozen.say("release");
  frozen.thaw();

  std::vector<std::string> answers;
  while (answers.size() < 3) {
    const auto line = frozen.line();
    ASSERT_TRUE(line);
    if (!line->starts_with("lost ")) answers.push_back(*line);  // told by another thread, at any moment
  }
  EXPECT_EQ(answers, (std::vector<std::string>{"not-valid", "refused", "lost"}));
  EXPECT_EQ(resource.read().value(), "by the new holder");
  EXPECT_TRUE(held.valid()) << "the late release took it from the new holder";
  EXPECT_TRUE(file.somebody_holds("orders/42"));
}

TEST_F(processes, a_frozen_holder_that_is_thawed_in_time_still_holds) {
  auto holder = start("hold", 10s);
  ASSERT_TRUE(holder.after("held"));
  holder.freeze();
  std::this_thread::sleep_for(300ms);
  holder.say("valid");
  holder.thaw();
  EXPECT_EQ(holder.line(), "valid");
}

TEST_F(processes, a_frozen_waiter_is_passed_over_and_does_not_believe_an_old_grant) {
  auto held = locks.acquire("orders/42");
  auto frozen = start("hold", 500ms);
  ASSERT_TRUE(becomes(1));
  frozen.freeze();
  EXPECT_TRUE(held.release());
  const auto next = locks.attempt("orders/42", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message();
  frozen.thaw();
  EXPECT_FALSE(frozen.after("held", 600ms)) << "two holders";
  EXPECT_TRUE(next->valid());
}

TEST_F(processes, fifty_dead_waiters_do_not_delay_the_live_one) {
  auto held = locks.acquire("orders/42");
  std::vector<agent> doomed;
  constexpr std::size_t dead = 50;
  for (std::size_t i = 0; i < dead; ++i) doomed.push_back(start("hold", 2000ms));
  ASSERT_TRUE(becomes(dead));
  auto live = start("hold", 2000ms);
  ASSERT_TRUE(becomes(dead + 1));
  for (auto& one : doomed) one.kill();
  const auto freed = clock::now();
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(live.after("held", 60s));
  EXPECT_LT(clock::now() - freed, 2000ms + 3s) << "one wait lease in all, not fifty";
}

TEST_F(processes, the_end_of_a_process_hands_over_at_once) {
  auto holder = start("hold", 30s);
  ASSERT_TRUE(holder.after("held"));
  auto wait = locks.async_acquire("orders/42");
  ASSERT_TRUE(becomes(1));
  const auto begin = clock::now();
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(wait.get().valid());
  EXPECT_LT(clock::now() - begin, 10s) << "not after its lease of 30 s";
}

TEST_F(processes, readers_of_many_processes_read_together_and_keep_the_writer_out) {
  auto one = start("shared", 5s), two = start("shared", 5s);
  ASSERT_TRUE(one.after("held"));
  ASSERT_TRUE(two.after("held"));
  EXPECT_EQ(locks.inspect("orders/42").holders.size(), 2U);
  EXPECT_FALSE(locks.try_acquire("orders/42"));
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(two.wait(), 0);
  EXPECT_TRUE(locks.attempt("orders/42", {.wait = 5s}));
}

}  // namespace
}  // namespace interlock

#endif
