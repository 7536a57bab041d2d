// SPDX-License-Identifier: MIT
#include "interop/redisson/meeting.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"

#include <thread>

/// In a cluster of Redis 7 Redisson publishes and listens on sharded channels only.
namespace interlock::test_support {
namespace {

TEST(cluster_with_redisson, waiters_of_both_are_woken_whatever_the_name) {
  redis_cluster cluster;
  java_peer java("cluster", cluster.node(0).port(), long_lease);
  for (const auto& object : {std::string("lock"), std::string("write"), std::string("fair")}) {
    for (const auto& name : {object + "/orders", "{" + object + "}/orders", object + "/{orders}/7"}) {
      const auto url = cluster.url("layout=redisson&object=" + rival::in_url(object));
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

}  // namespace
}  // namespace interlock::test_support
