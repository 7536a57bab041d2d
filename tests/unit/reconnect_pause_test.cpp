// SPDX-License-Identifier: MIT
#include "net/reconnect_pause.hpp"

#include <gtest/gtest.h>

namespace interlock::net {
namespace {

using namespace std::chrono_literals;

constexpr double middle = 0.5;  // neither early nor late

TEST(reconnect_pause, doubles_with_every_failure_up_to_a_second) {
  EXPECT_EQ(reconnect_pause(0, middle), 10ms);
  for (unsigned failures = 1; failures < 7; ++failures)
    EXPECT_EQ(reconnect_pause(failures, middle), 2 * reconnect_pause(failures - 1, middle)) << failures;
  for (const unsigned many : {7U, 8U, 31U, 32U, 64U, 1'000'000U, ~0U}) EXPECT_EQ(reconnect_pause(many, middle), 1s);
}

TEST(reconnect_pause, is_spread_over_as_much_as_it_is_long) {
  EXPECT_EQ(reconnect_pause(3, 0), 40ms);
  EXPECT_EQ(reconnect_pause(3, 1), 120ms);
  EXPECT_EQ(reconnect_pause(100, 0), 500ms);
  EXPECT_EQ(reconnect_pause(100, 1), 1500ms) << "also where all have failed for long";
  EXPECT_LT(reconnect_pause(3, 0.3), reconnect_pause(3, 0.7));
}

TEST(reconnect_pause, begins_where_it_is_told_to_and_ends_where_all_do) {
  EXPECT_EQ(reconnect_pause(0, middle, 50ms), 50ms);
  EXPECT_EQ(reconnect_pause(1, middle, 50ms), 100ms);
  EXPECT_EQ(reconnect_pause(20, middle, 50ms), 1s);
}

}  // namespace
}  // namespace interlock::net
