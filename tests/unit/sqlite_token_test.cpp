// SPDX-License-Identifier: MIT
// Tokens and leases over reboots, forgotten names and used-up generations.
#include "support/sqlite_harness.hpp"

#include <gtest/gtest.h>

namespace interlock::test {
namespace {

using kind = standing::kind;
constexpr std::uint64_t per_generation = std::uint64_t{1} << 40;

struct sqlite_token_test : ::testing::Test {
  scratch_folder folder;
  moved_clock clock;

  void pretend_reboot() { raw_database(folder.file()).run("update meta set boot = 'an earlier one'"); }
};

TEST_F(sqlite_token_test, tokens_start_in_the_first_generation) {
  sqlite_client a(folder.file());
  EXPECT_EQ(a.take(make_claim("n")), per_generation + 1);
}

TEST_F(sqlite_token_test, after_a_reboot_tokens_are_above_all_that_were_given_whatever_a_power_cut_took_back) {
  std::uint64_t before = 0;
  {
    sqlite_client a(folder.file());
    const auto mine = make_claim("n");
    before = a.take(mine);
    ASSERT_EQ(*a.leave(mine), departure::released);
  }
  pretend_reboot();
  raw_database(folder.file()).run("delete from book");  // as if none of it had reached the disk
  sqlite_client b(folder.file());
  EXPECT_GT(b.take(make_claim("n")), before);
  EXPECT_EQ(raw_database(folder.file()).number("select generation from meta"), 2);
}

TEST_F(sqlite_token_test, after_a_reboot_a_claim_lives_for_one_more_lease_and_no_longer) {
  {
    sqlite_client a(folder.file(), clock);
    ASSERT_GT(a.take(make_claim("n", 800ms)), 0U);
  }
  pretend_reboot();
  raw_database(folder.file()).run("update book set ends = 1 where seq > 0");  // an instant of the other clock
  sqlite_client b(folder.file(), clock);
  EXPECT_EQ(b.take(make_claim("n")), 0U) << "never dead at once";
  clock.advance(700ms);
  EXPECT_EQ(b.take(make_claim("n")), 0U);
  clock.advance(200ms);
  EXPECT_GT(b.take(make_claim("n")), 0U);
}

TEST_F(sqlite_token_test, a_clock_that_was_far_ahead_before_the_reboot_keeps_nobody_out) {
  {
    sqlite_client a(folder.file(), clock);
    ASSERT_GT(a.take(make_claim("n", 100ms)), 0U);
  }
  pretend_reboot();
  raw_database(folder.file()).run("update book set ends = ends + 1000000000000 where seq > 0");
  sqlite_client b(folder.file(), clock);
  clock.advance(200ms);
  EXPECT_GT(b.take(make_claim("n")), 0U);
}

TEST_F(sqlite_token_test, a_second_opening_in_the_same_boot_changes_nothing) {
  { sqlite_client a(folder.file()); }
  pretend_reboot();
  { sqlite_client a(folder.file()); }
  { sqlite_client a(folder.file()); }
  EXPECT_EQ(raw_database(folder.file()).number("select generation from meta"), 2);
}

TEST_F(sqlite_token_test, a_client_notices_at_its_next_look_that_another_kernel_uses_the_file) {
  sqlite_client a(folder.file());
  const auto mine = make_claim("n");
  ASSERT_GT(a.take(mine), 0U);
  pretend_reboot();
  const auto renewed = a.look(mine);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().kind(), errc::unsupported);
  EXPECT_NE(renewed.error().message().find("shared between kernels"), std::string::npos) << renewed.error().message();
  const auto other = a.enter(make_claim("other"));
  ASSERT_FALSE(other) << "and grants nothing any more";
  EXPECT_EQ(other.error().kind(), errc::unsupported);
}

TEST_F(sqlite_token_test, a_name_that_outgrows_its_generation_opens_the_next_one_for_good) {
  sqlite_client a(folder.file());
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(a.take(first), 0U);
  ASSERT_EQ(*a.leave(first), departure::released);
  raw_database(folder.file())
      .run("update book set token = " + std::to_string(2 * per_generation - 1) + " where seq = 0");
  EXPECT_EQ(a.take(second), 2 * per_generation);
  EXPECT_EQ(raw_database(folder.file()).number("select generation from meta"), 2) << "else the next boot repeats it";
  ASSERT_EQ(*a.leave(second), departure::released);
  EXPECT_EQ(a.take(make_claim("n")), 2 * per_generation + 1);
}

TEST_F(sqlite_token_test, a_name_idle_for_a_day_is_forgotten_and_its_token_is_not) {
  std::uint64_t last = 0;
  sqlite_client stale(folder.file(), clock);  // knows nothing of what the other one forgets
  {
    sqlite_client a(folder.file(), clock);
    for (int i = 0; i < 5; ++i) {
      const auto mine = make_claim("old");
      last = a.take(mine);
      ASSERT_EQ(*a.leave(mine), departure::released);
    }
    ASSERT_GT(a.take(make_claim("held", 72h)), 0U);
    ASSERT_GT(a.take(make_claim("expired", 1s)), 0U);
  }
  clock.advance(25h);
  sqlite_client b(folder.file(), clock);
  ASSERT_TRUE(b.survey({})) << "answered after the sweep that opening asked for";
  raw_database raw(folder.file());
  EXPECT_EQ(raw.number("select count(*) from book where name = cast('old' as blob)"), 0);
  EXPECT_EQ(raw.number("select count(*) from book where name = cast('held' as blob)"), 2);
  EXPECT_EQ(raw.number("select count(*) from book where name = cast('expired' as blob) and seq > 0"), 0);
  EXPECT_GT(stale.take(make_claim("old")), last);
  EXPECT_EQ(b.take(make_claim("held")), 0U);
}

TEST_F(sqlite_token_test, a_long_running_client_sweeps_when_it_renews) {
  sqlite_client a(folder.file(), clock);
  const auto mine = make_claim("held", 72h), old = make_claim("old");
  ASSERT_GT(a.take(mine), 0U);
  ASSERT_GT(a.take(old), 0U);
  ASSERT_EQ(*a.leave(old), departure::released);
  clock.advance(25h);
  ASSERT_EQ(a.look(mine)->is, kind::held);
  ASSERT_EQ(a.look(mine)->is, kind::held);
  ASSERT_TRUE(a.survey({}));
  EXPECT_EQ(raw_database(folder.file()).number("select count(*) from book where name = cast('old' as blob)"), 0);
}

}  // namespace
}  // namespace interlock::test
