// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "interop/zookeeper_peers.hpp"

/// kazoo's processes and ours on the same nodes. Time limits are for "never", not for "late".
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using test_support::agent;

struct kazoo_peers : ::testing::Test {
  agent theirs(const std::string& verb, const std::string& kind, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{std::string(INTERLOCK_SOURCE_DIR) + "/tests/interop/kazoo/kazoo_agent.py", verb,
                                   "127.0.0.1:" + std::to_string(server.port()), root + "/orders", kind};
    words.insert(words.end(), more.begin(), more.end());
    return {"/usr/bin/python3", words};
  }
  [[nodiscard]] std::string url() const { return server.url(root + "?layout=kazoo"); }

  test_support::zookeeper_server& server = test_support::zookeeper_server::shared();
  const std::string root = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(kazoo_peers, nobody_loses_an_update_when_both_sides_count_and_some_are_killed) {
  contend(url(),
          [&](const std::string& verb, const std::vector<std::string>& more) { return theirs(verb, "lock", more); });
}

TEST_F(kazoo_peers, a_writer_of_theirs_and_readers_of_ours_exclude_each_other_and_readers_do_not) {
  const client locks(url());
  const acquire_options reading{.mode = lock_mode::shared, .wait = 0ms};
  {
    const auto reads = locks.acquire("orders", {.mode = lock_mode::shared});
    EXPECT_EQ(theirs("try", "read").line(), "held");
    EXPECT_EQ(theirs("try", "write").line(), "busy");
  }
  auto writer = theirs("hold", "write");
  ASSERT_TRUE(writer.after("held"));
  EXPECT_FALSE(locks.attempt("orders", reading));
  auto next = locks.async_acquire("orders", {.mode = lock_mode::shared});
  writer.end_input();
  EXPECT_TRUE(next.get().valid());
  const auto seen = locks.inspect("orders");
  EXPECT_TRUE(seen.waiters.empty());
}

TEST_F(kazoo_peers, their_holder_is_listed_in_its_own_words_and_can_be_broken_by_force) {
  const client locks(url());
  auto holder = theirs("hold", "lock");
  ASSERT_TRUE(holder.after("held"));
  const auto seen = locks.inspect("orders");
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_EQ(seen.holders[0].lease_left, milliseconds::max()) << "nobody knows";
  EXPECT_TRUE(locks.evict_by_force("orders", seen.holders[0].id));
  EXPECT_TRUE(locks.try_acquire("orders"));
}

}  // namespace
}  // namespace interlock::interop

#endif
