// SPDX-License-Identifier: MIT
#include "interop/redisson/meeting.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"

#include <string>
#include <thread>
#include <vector>

/// In a cluster of Redis 7 Redisson publishes and listens on sharded channels only.
namespace interlock::test_support {
namespace {

TEST(cluster_with_redisson, waiters_of_both_are_woken_whatever_the_name) {
  redis_cluster cluster;
  java_peer java("cluster", cluster.node(0).port(), long_lease);
  for (const auto& object :
       {std::string("lock"), std::string("write"), std::string("fair"), std::string("semaphore")}) {
    for (const auto& name : {object + "/orders", "{" + object + "}/orders", object + "/{orders}/7"}) {
      const auto url = cluster.url("layout=redisson&object=" + rival::in_url(object));
      if (object == "semaphore") {
        ASSERT_EQ(java.ask("a", "permits semaphore " + name + " 1"), "set");
      }
      const rival mine(url, object, name);
      auto holding = mine.take({.lease = long_lease, .wait = 0ms});
      ASSERT_TRUE(holding) << holding.error().message();
      java.tell("a", "lock " + object + " " + name);
      ASSERT_TRUE(java.waits("a", 500ms)) << name;
      ASSERT_TRUE(holding->release());
      EXPECT_LT(time_of([&] { EXPECT_TRUE(java.answer("a").starts_with("held")); }), promptly) << name;
      auto wait = mine.queue({.lease = long_lease});
      ASSERT_TRUE(eventually([&] { return mine.locks().inspect(name).waiters.size() == 1; }));
      std::this_thread::sleep_for(300ms);
      EXPECT_EQ(java.ask("a", "unlock " + object + " " + name), "released");
      EXPECT_LT(time_of([&] { EXPECT_TRUE(wait.get().release()); }), promptly) << name;
    }
  }
}

const std::vector<std::string> names{"orders", "{orders}", "all/{orders}/7"};

TEST(cluster_with_redisson, readers_of_both_that_wait_are_all_woken_by_the_writer_of_the_other) {
  redis_cluster cluster;
  java_peer java("cluster", cluster.node(0).port(), long_lease);
  const auto url = cluster.url("layout=redisson&object=rw");
  const client locks(url), second(url);
  for (const auto& name : names) {
    {
      auto mine = locks.acquire(name, {.lease = long_lease});
      for (const char* thread : {"a", "b"}) java.tell(thread, "lock read " + name);
      for (const char* thread : {"a", "b"}) ASSERT_TRUE(java.waits(thread, 300ms)) << name;
      ASSERT_TRUE(mine.release());
      for (const char* thread : {"a", "b"}) EXPECT_EQ(java.answer(thread, promptly), "held") << name;
      for (const char* thread : {"a", "b"}) EXPECT_EQ(java.ask(thread, "unlock read " + name), "released");
    }
    ASSERT_EQ(java.ask("a", "lock write " + name), "held");
    std::vector<pending<guard>> waits;
    for (const auto* from : {&locks, &locks, &second})
      waits.push_back(from->async_acquire(name, {.lease = long_lease, .mode = lock_mode::shared}));
    ASSERT_TRUE(eventually([&] { return locks.inspect(name).waiters.size() == waits.size(); }));
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(java.ask("a", "unlock write " + name), "released");
    std::vector<guard> readers;
    EXPECT_LT(time_of([&] {
                for (auto& one : waits) readers.push_back(one.get());
              }),
              promptly)
        << name;
  }
}

// Of names with braces Redisson's own scripts have the channel in another slot than the latch, and fail.
TEST(cluster_with_redisson, who_waits_for_a_latch_is_told_by_the_other) {
  redis_cluster cluster;
  java_peer java("cluster", cluster.node(0).port(), long_lease);
  const client locks(cluster.url("layout=redisson"));
  for (const auto& name : {std::string("orders"), std::string("orders/7")}) {
    const latch theirs(locks, "theirs/" + name, 1);
    ASSERT_TRUE(theirs.create());
    java.tell("a", "await latch theirs/" + name);
    ASSERT_TRUE(java.waits("a", 300ms)) << name;
    EXPECT_EQ(theirs.count_down(), 0U);
    EXPECT_EQ(java.answer("a", promptly), "open") << name;

    const latch ours(locks, "ours/" + name, 1);
    ASSERT_EQ(java.ask("a", "setup latch ours/" + name + " 1"), "set");
    auto wait = ours.async_wait();
    std::this_thread::sleep_for(300ms);
    EXPECT_FALSE(wait.ready()) << name;
    EXPECT_EQ(java.ask("a", "down latch ours/" + name), "counted");
    EXPECT_LT(time_of([&] { EXPECT_TRUE(wait.get_result()); }), promptly) << name;
  }
}

}  // namespace
}  // namespace interlock::test_support
