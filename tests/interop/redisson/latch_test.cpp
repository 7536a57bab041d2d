// SPDX-License-Identifier: MIT
#include "interop/redisson/meeting.hpp"
#include "support/eventually.hpp"

#include <thread>
#include <vector>

/// RCountDownLatch of both.
namespace interlock::test_support {
namespace {

class latch_with_redisson : public meeting {
 protected:
  void SetUp() override { name = fresh_name(); }
  std::string ask(const std::string& thread, const std::string& what, const std::string& more = {}) {
    return java().ask(thread, what + " latch " + name + more);
  }
  [[nodiscard]] latch ours(std::uint32_t count) const { return {client(url("lock")), name, count}; }
  std::string name;
};

TEST_F(latch_with_redisson, java_awaits_and_we_count_down) {
  ASSERT_EQ(ask("a", "setup", " 2"), "set");
  EXPECT_FALSE(ours(2).create());
  java().tell("b", "await latch " + name);
  EXPECT_TRUE(java().waits("b", 300ms));
  EXPECT_EQ(ours(2).count_down(), 1U);
  EXPECT_EQ(ask("a", "left"), "1");
  EXPECT_TRUE(java().waits("b", 200ms));
  const auto last = ours(2);
  EXPECT_EQ(last.count_down(), 0U);
  EXPECT_LT(time_of([&] { EXPECT_EQ(java().answer("b"), "open"); }), promptly);
  EXPECT_EQ(ask("a", "left"), "0");
}

TEST_F(latch_with_redisson, we_wait_and_java_counts_down) {
  const auto gate = ours(3);
  ASSERT_TRUE(gate.create());
  EXPECT_EQ(ask("a", "setup", " 3"), "there");
  auto wait = gate.async_wait();
  EXPECT_EQ(ask("a", "down", " 2"), "counted");
  EXPECT_EQ(gate.left(), 1U);
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(wait.ready());
  EXPECT_EQ(ask("a", "down"), "counted");
  EXPECT_LT(time_of([&] { EXPECT_TRUE(wait.get_result()); }), promptly);
  EXPECT_TRUE(gate.try_wait());
}

TEST_F(latch_with_redisson, both_wait_for_both) {
  const auto gate = ours(4);
  ASSERT_TRUE(gate.create());
  java().tell("a", "await latch " + name);
  auto wait = gate.async_wait();
  EXPECT_EQ(ask("b", "down"), "counted");
  EXPECT_EQ(gate.count_down(), 2U);
  EXPECT_EQ(ask("b", "down"), "counted");
  EXPECT_TRUE(java().waits("a", 200ms));
  EXPECT_FALSE(wait.ready());
  EXPECT_EQ(gate.count_down(), 0U);
  EXPECT_EQ(java().answer("a", promptly), "open");
  EXPECT_TRUE(wait.get_result());
}

TEST_F(latch_with_redisson, no_count_is_lost_when_both_count_at_once) {
  constexpr std::uint32_t each = 200;
  const auto gate = ours(2 * each + 1);
  ASSERT_TRUE(gate.create());
  java().tell("a", "down latch " + name + " " + std::to_string(each));
  for (std::uint32_t i = 0; i < each; ++i) gate.count_down();
  EXPECT_EQ(java().answer("a"), "counted");
  EXPECT_EQ(gate.left(), 1U);
  EXPECT_EQ(ask("a", "left"), "1");
}

TEST_F(latch_with_redisson, a_second_round_is_a_second_round_for_both) {
  const auto gate = ours(1);
  ASSERT_TRUE(gate.create());
  gate.count_down();
  EXPECT_EQ(ask("a", "await", " 0"), "open");
  gate.reset();
  EXPECT_EQ(ask("a", "await", " 200"), "shut");
  EXPECT_EQ(ask("a", "down"), "counted");
  EXPECT_TRUE(gate.try_wait());
}

}  // namespace
}  // namespace interlock::test_support
