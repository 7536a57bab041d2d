// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_REDIS) && defined(INTERLOCK_COMMAND)

#include "support/command_run.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// What people see of strangers' locks.
namespace interlock::interop {
namespace {

class plain_command : public ::testing::Test {
 protected:
  [[nodiscard]] test_support::command_outcome run(const std::vector<std::string>& words) const {
    return test_support::run_command(server.url("layout=plain"), words);
  }

  test_support::redis_server server;
};

TEST_F(plain_command, a_stranger_is_shown_and_broken_by_force_only) {
  server.command({"SET", "orders", "somebody"});
  const auto shown = run({"show", "orders"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.text.find("another library"), std::string::npos) << shown.text;
  EXPECT_NE(shown.text.find("without a lease"), std::string::npos) << shown.text;
  EXPECT_NE(run({"ls"}).text.find("another library"), std::string::npos);
  EXPECT_NE(run({"show", "orders", "--json"}).text.find("\"lease_left_ms\":null"), std::string::npos);

  const auto at = shown.text.find("holds  ") + 7;
  const auto handle = shown.text.substr(at, 32);
  EXPECT_NE(run({"break", "orders", "--handle", handle}).status, 0);
  EXPECT_EQ(server.command({"GET", "orders"}), "somebody");
  EXPECT_EQ(run({"break", "orders", "--force", "--handle", handle}).status, 0);
  EXPECT_EQ(server.command({"EXISTS", "orders"}), 0);
}

TEST_F(plain_command, a_command_runs_under_a_lock_that_others_see) {
  const auto ran = run({"run", "orders", "--", "/bin/sh", "-c", "echo token $INTERLOCK_TOKEN"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(ran.text.starts_with("token 1")) << ran.text;
  server.command({"SET", "orders", "somebody", "PX", "60000"});
  EXPECT_NE(run({"try", "orders", "--", "/bin/true"}).status, 0);
}

}  // namespace
}  // namespace interlock::interop

#endif
