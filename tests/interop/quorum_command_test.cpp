// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_REDIS) && defined(INTERLOCK_COMMAND)

#include "support/command_run.hpp"
#include "support/redis_nodes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// The command on several servers, one of which is down: each run is a client that has seen nothing before.
namespace interlock::interop {
namespace {

class quorum_command : public ::testing::Test {
 protected:
  [[nodiscard]] test_support::command_outcome run(const std::string& query,
                                                  const std::vector<std::string>& words) const {
    return test_support::run_command(nodes.url(query), words);
  }
  [[nodiscard]] std::string nested(const std::string& words) const {
    return std::string(INTERLOCK_COMMAND) + " " + words;
  }

  test_support::redis_nodes nodes{3};
};

TEST_F(quorum_command, runs_tries_shows_and_breaks) {
  nodes[1].kill();
  const auto ran = run("", {"run", "orders", "--", "/bin/sh", "-c", "echo token $INTERLOCK_TOKEN"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(ran.text.starts_with("token 1")) << ran.text;
  const auto tried = run("", {"run", "orders", "--", "/bin/sh", "-c",
                              nested("try orders -- /bin/echo in") + "; " + nested("show orders")});
  EXPECT_EQ(tried.text.find("in\n"), std::string::npos) << tried.text;
  EXPECT_NE(tried.text.find("holds  "), std::string::npos) << tried.text;

  nodes[0].command({"SET", "orders", "somebody"});
  nodes[2].command({"SET", "orders", "somebody"});
  const auto shown = run("", {"show", "orders"}).text;
  ASSERT_NE(shown.find("another library"), std::string::npos) << shown;
  const auto handle = shown.substr(shown.find("holds  ") + 7, 32);
  EXPECT_NE(run("", {"break", "orders", "--handle", handle}).status, 0) << "it cannot be told";
  EXPECT_EQ(run("", {"break", "orders", "--force", "--handle", handle}).status, 0);
  EXPECT_EQ(nodes.having("orders"), 0U);
}

TEST_F(quorum_command, shares_and_counts_permits_in_the_native_layout) {
  const auto shared = run("layout=native", {"run", "orders", "--shared", "--", "/bin/sh", "-c",
                                            nested("try orders --shared -- /bin/echo both") + "; " +
                                                nested("try orders -- /bin/echo writer")});
  EXPECT_EQ(shared.text, "both\n");
  const auto permits = run("layout=native", {"run", "gate", "--permits", "1/2", "--", "/bin/sh", "-c",
                                             nested("try gate --permits 1/2 -- /bin/echo second") + "; " +
                                                 nested("try gate --permits 2/2 -- /bin/echo third")});
  EXPECT_EQ(permits.text, "second\n");
  EXPECT_NE(run("", {"run", "orders", "--shared", "--", "/bin/true"}).status, 0) << "the plain layout has no readers";
}

}  // namespace
}  // namespace interlock::interop

#endif
