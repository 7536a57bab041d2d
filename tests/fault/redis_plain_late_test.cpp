// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

/// Requests that were given up, arrive late on the connection they were sent on, and find the lock free.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;

/// Takes and releases a lock over a way that breaks in between, and lets the first request for it arrive at last.
class redis_plain_late : public ::testing::Test {
 protected:
  void begin(const std::string& query, const test_support::redis_options& options = {}) {
    server.emplace(options);
    between.emplace(server->port());
    locks.emplace(server->url_at(between->port(), query + "&timeout=300ms"));
    EXPECT_TRUE(locks->acquire("warm").release());
    const auto before = between->seen();
    between->strand();
    auto held = locks->acquire("orders", {.lease = 2s});  // the first request was given up, a second one answered
    EXPECT_GT(between->seen().connections, before.connections);
    EXPECT_TRUE(held.release());
    EXPECT_FALSE(there());
    between->heal();
    EXPECT_TRUE(eventually([&] { return between->seen().open == before.open; })) << "the old connections end";
  }
  [[nodiscard]] bool there() const { return server->command({"EXISTS", "orders"}) == 1; }

  std::optional<test_support::redis_server> server;
  std::optional<test_support::tcp_proxy> between;
  std::optional<client> locks;
  const test_support::redis_options no_kill{.users = {"default on nopass ~* &* +@all -client|kill"}};
};

// SET asks for no tombstones: the server is told to end the old connection before it hears anything on the new one.
TEST_F(redis_plain_late, a_bare_set_on_a_broken_connection_does_not_happen_behind_its_undoing) {
  for (const char* const protocol : {"3", "2"}) {
    locks.reset();
    begin(std::string("layout=plain&token=none&protocol=") + protocol);
    EXPECT_FALSE(there()) << "a lock that nobody has";
  }
}

TEST_F(redis_plain_late, with_tokens_no_right_to_end_connections_is_needed) {
  begin("layout=plain", no_kill);
  EXPECT_FALSE(there()) << "a lock that nobody has";
}

TEST_F(redis_plain_late, without_that_right_and_without_tokens_nobody_has_it_for_a_lease_at_most) {
  begin("layout=plain&token=none", no_kill);
  EXPECT_TRUE(there()) << "if not, the first test shows nothing";
  EXPECT_TRUE(locks->acquire("orders", {.wait = 20s}).release());
}

}  // namespace
}  // namespace interlock

#endif
