// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

/// Redisson's keys in a cluster: all of a name's are in one slot, and releases are told on plain and sharded channels.
namespace interlock::test_support {
namespace {

using namespace std::chrono_literals;

class redisson_cluster : public ::testing::Test {
 protected:
  redis_cluster cluster;
};

TEST_F(redisson_cluster, every_object_works_whatever_the_slot) {
  for (const char* what : {"lock", "fenced", "rw", "fair"}) {
    const std::string object = what;
    const auto url = cluster.url("layout=redisson&object=" + object);
    const client first(url), second(url);
    std::vector<guard> held;
    for (int i = 0; i < 40; ++i) held.push_back(first.acquire("many/" + std::to_string(i), {.lease = 1s}));
    held.push_back(first.acquire("{a}b", {.lease = 1s}));
    auto wait = second.async_acquire("{a}b");
    ASSERT_TRUE(eventually([&] { return first.inspect("{a}b").waiters.size() == 1; }));
    std::this_thread::sleep_for(1500ms);
    for (const auto& one : held) EXPECT_TRUE(one.valid()) << one.name();
    EXPECT_EQ(first.survey().size(), held.size());
    held.clear();
    EXPECT_TRUE(wait.get().release());
    if (!first.traits().permits) continue;
    auto permits = semaphore(first, "gate/" + object, 3).acquire({.permits = 2});
    EXPECT_FALSE(semaphore(second, "gate/" + object, 3).try_acquire({.permits = 2}));
  }
}

TEST_F(redisson_cluster, a_release_is_told_on_both_kinds_of_channels) {
  const client locks(cluster.url("layout=redisson"));
  const std::string channel = "redisson_lock__channel:{orders}";
  auto old = cluster.node(0).connect(), sharded = cluster.master_of("orders").connect();
  old.send({"SUBSCRIBE", channel});
  old.receive();
  sharded.send({"SSUBSCRIBE", channel});
  sharded.receive();
  EXPECT_TRUE(locks.acquire("orders").release());
  EXPECT_EQ(old.receive()[2], "0");
  EXPECT_EQ(sharded.receive()[2], "0");
}

// Redisson itself cannot use such a name there: some of its keys fall into another slot.
TEST_F(redisson_cluster, a_name_whose_keys_would_fall_apart_is_refused) {
  const client locks(cluster.url("layout=redisson"));
  for (const char* name : {"{", "{}", "a{", "a{}b"}) {
    const auto refused = locks.attempt(name, {.wait = 0ms});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    EXPECT_NE(refused.error().message().find("braces"), std::string::npos) << refused.error().message();
  }
}

}  // namespace
}  // namespace interlock::test_support

#endif
