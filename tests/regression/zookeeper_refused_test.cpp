// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/reserved_port.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace interlock {
namespace {

// Whoever had asked was woken while the loop was still telling it so, and took away what the loop was using.
TEST(zookeeper_regression, a_connection_that_is_refused_is_told_to_the_end_before_its_client_goes) {
  const test_support::reserved_port nobody;
  const auto url = "zk://127.0.0.1:" + std::to_string(nobody.number());
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      for (int k = 0; k < 250; ++k) EXPECT_EQ(client::connect(url).error(), errc::unavailable);
    });
}

}  // namespace
}  // namespace interlock

#endif
