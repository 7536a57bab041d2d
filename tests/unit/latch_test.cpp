// SPDX-License-Identifier: MIT
#include "core/cell_record.hpp"
#include "core/latch_rules.hpp"

#include <interlock/interlock.hpp>
#include <interlock/testing/sandbox.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace interlock {
namespace {

using namespace std::chrono_literals;
using verdict = core::cell_verdict::kind;

cell at(std::string value) { return {std::move(value), {7}}; }
core::latch_terms ours(std::uint32_t count) { return {"start", count, false}; }
core::latch_terms theirs(std::uint32_t count) { return {"start", count, true}; }

TEST(latch_rules, the_first_to_count_makes_it) {
  const auto what = core::count_down_rule(ours(3), 1)(cell{});
  EXPECT_EQ(what.is, verdict::write);
  EXPECT_EQ(what.value, "latch 2/3");
  EXPECT_EQ(*what.answer, 2U);
}

TEST(latch_rules, what_is_not_there_is_shut_if_it_is_ours_and_open_if_it_is_another_librarys) {
  EXPECT_EQ(core::wait_rule(ours(3))(cell{}).is, verdict::wait);
  EXPECT_EQ(core::wait_rule(theirs(3))(cell{}).is, verdict::finish);
  EXPECT_EQ(*core::left_rule(ours(3))(cell{}).answer, 3U);
  EXPECT_EQ(*core::left_rule(theirs(3))(cell{}).answer, 0U);
  EXPECT_EQ(core::count_down_rule(theirs(3), 1)(cell{}).answer.error(), errc::invalid_argument);
}

TEST(latch_rules, an_open_one_is_remembered_as_such) {
  const auto what = core::count_down_rule(ours(3), 2)(at("latch 2/3"));
  EXPECT_EQ(what.value, "latch 0/3");
  EXPECT_EQ(core::wait_rule(ours(3))(at("latch 0/3")).is, verdict::finish);
  EXPECT_EQ(core::create_rule(ours(3))(at("latch 0/3")).is, verdict::finish);
  EXPECT_EQ(core::reset_rule(ours(3))(at("latch 0/3")).value, "latch 3/3");
}

TEST(latch_rules, what_is_no_latch_is_refused) {
  for (const auto* text : {"", "latch", "latch ", "latch 1", "latch 1/", "latch /3", "latch 1/3 ", "latch -1/3",
                           "latch 1/99999999999", "1", "leader"})
    EXPECT_EQ(core::wait_rule(ours(3))(at(text)).answer.error(), errc::invalid_argument) << text;
  for (const auto* text : {"", "latch 1/3", "-1", "1 ", "x", "99999999999"})
    EXPECT_EQ(core::wait_rule(theirs(3))(at(text)).answer.error(), errc::invalid_argument) << text;
}

TEST(latch_rules, another_count_is_refused_where_it_can_be_seen) {
  EXPECT_EQ(core::wait_rule(ours(3))(at("latch 1/4")).answer.error(), errc::invalid_argument);
  EXPECT_EQ(core::wait_rule(theirs(3))(at("4")).answer.error(), errc::invalid_argument);
  EXPECT_EQ(core::wait_rule(theirs(3))(at("2")).is, verdict::wait);
}

TEST(cell_record, a_mark_is_found_again_until_it_is_pushed_out) {
  core::cell_record one;
  std::array<std::byte, 16> bytes{};
  const auto next = [&] {
    bytes[0] = static_cast<std::byte>(std::to_integer<int>(bytes[0]) + 1);
    return claim_secret(bytes);
  };
  cell_write first{.name = "x", .expected = {}, .value = "a", .mark = next()};
  const auto made = one.change(first, 10).value();
  EXPECT_EQ(made.number, 11U);
  auto last = made;
  for (std::size_t i = 1; i < cell_marks; ++i)
    last = one.change({.name = "x", .expected = last, .value = "b", .mark = next()}, 10).value();
  first.again = true;
  EXPECT_EQ(one.change(first, 10).value(), made);
  last = one.change({.name = "x", .expected = last, .value = "c", .mark = next()}, 10).value();
  EXPECT_EQ(one.change(first, 10).error(), errc::indeterminate);
  EXPECT_EQ(one.log.size(), cell_marks);
}

TEST(latch, time_passes_by_hand) {
  testing::sandbox box;
  const auto one = box.connect(), two = box.connect();
  const latch gate(one, "start", 2), same(two, "start", 2);
  auto wait = gate.async_wait(10s);
  auto brief = gate.async_wait(1s);
  box.advance(2s);
  ASSERT_TRUE(brief.ready());
  EXPECT_EQ(brief.get_result().error(), errc::busy);
  EXPECT_FALSE(wait.ready());
  same.count_down(2);
  box.advance(0s);
  ASSERT_TRUE(wait.ready());
  EXPECT_TRUE(wait.get_result());
}

TEST(latch, a_silent_store_is_unavailable_after_patience_and_not_before) {
  testing::sandbox box;
  const auto one = box.connect({.patience = 5s}), two = box.connect();
  const latch gate(one, "start", 1);
  auto wait = gate.async_wait();
  box.advance(1s);
  box.cut(one);
  latch(two, "start", 1).count_down();
  box.advance(4s);
  EXPECT_FALSE(wait.ready());
  box.advance(30s);
  ASSERT_TRUE(wait.ready());
  EXPECT_EQ(wait.get_result().error(), errc::unavailable);
  auto again = gate.async_wait();
  box.advance(3s);
  box.heal(one);
  box.advance(3s);
  ASSERT_TRUE(again.ready()) << "asked again in the meantime";
  EXPECT_TRUE(again.get_result());
}

TEST(latch, is_forgotten_after_its_time) {
  testing::sandbox box;
  const auto locks = box.connect();
  const latch gate(locks, "start", 1, 1h);
  gate.count_down();
  box.advance(59min);
  EXPECT_TRUE(gate.try_wait());
  box.advance(2min);
  EXPECT_FALSE(gate.try_wait()) << "the name is free for a new one";
  EXPECT_EQ(gate.count_down(), 0U);
}

}  // namespace
}  // namespace interlock
