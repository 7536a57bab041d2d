// SPDX-License-Identifier: MIT
#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace interlock {
namespace {

using namespace std::chrono_literals;

// A wait that ran out was the last to know its client, and the thread it ended on waited for its own end.
TEST(last_handle, a_client_may_end_with_an_operation_that_ends_on_its_own_thread) {
  const client other("memory:last-handle");
  const auto held = other.acquire("orders/42");
  for (int round = 0; round < 20; ++round) {
    auto wait = client("memory:last-handle").async_acquire("orders/42", {.wait = 5ms});
    const auto reply = wait.get_result();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), errc::busy);
  }
  for (int round = 0; round < 20; ++round) {
    const auto dropped = client("memory:last-handle").async_acquire("orders/42", {.wait = milliseconds(round)});
    std::this_thread::sleep_for(milliseconds(round));
  }
  EXPECT_TRUE(held.valid());
}

}  // namespace
}  // namespace interlock
