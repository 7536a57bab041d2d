// SPDX-License-Identifier: MIT
#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace interlock {
namespace {

using namespace std::chrono_literals;

TEST(b19_all_renewals_fail_together, twenty_thousand_holds_of_one_client_outlive_their_lease) {
  const client locks("memory:");
  std::vector<guard> held;
  for (int i = 0; i < 20'000; ++i) held.push_back(locks.acquire("many/" + std::to_string(i), {.lease = 4s}));
  std::this_thread::sleep_for(5s);
  std::size_t lost = 0;
  for (const auto& one : held) lost += one.valid() ? 0 : 1;
  EXPECT_EQ(lost, 0U);
}

}  // namespace
}  // namespace interlock
