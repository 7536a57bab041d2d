// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/certificates.hpp"
#include "support/zookeeper_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// What `interlock doctor` sees of ZooKeeper's servers.
namespace interlock {
namespace {

using namespace test_support;
using verdict = store_check::verdict;

store_check find(const client& locks, const std::string& check) {
  for (auto& one : locks.examine())
    if (one.check == check) return one;
  return {.is = verdict::fail, .check = check, .seen = "no such check"};
}
bool says(const store_check& one, const std::string& words) { return one.seen.find(words) != one.seen.npos; }

TEST(zookeeper_doctor, tells_what_one_server_is_like_also_over_tls) {
  const auto& good = certificates::get().good;
  const zookeeper_server server({.tls = good});
  for (const auto& url :
       {server.url("/locks"), server.tls_url("/locks?connect_timeout=20s&tls_ca=" + good.authority.string())}) {
    const client locks(url);
    const auto held = locks.acquire("a");
    EXPECT_TRUE(says(find(locks, "server"), "ZooKeeper 3.")) << find(locks, "server").seen;
    EXPECT_TRUE(says(find(locks, "ensemble"), "standalone")) << find(locks, "ensemble").seen;
    EXPECT_EQ(find(locks, "members").is, verdict::warn) << "it is all alone";
    EXPECT_TRUE(says(find(locks, "sessions"), "from 400 to 600000 ms")) << find(locks, "sessions").seen;
    EXPECT_TRUE(says(find(locks, "tick"), "200 ms")) << find(locks, "tick").seen;
    EXPECT_TRUE(says(find(locks, "watches"), "nodes of sessions")) << find(locks, "watches").seen;
    EXPECT_TRUE(says(find(locks, "latency"), "/")) << find(locks, "latency").seen;
    EXPECT_TRUE(says(find(locks, "acl"), "/locks: world:anyone:rwcda")) << find(locks, "acl").seen;
    EXPECT_EQ(find(locks, "sync").is, verdict::ok);
    EXPECT_TRUE(says(find(locks, "connection"), url.starts_with("zks") ? "TLS" : "clear"));
  }
}

TEST(zookeeper_doctor, says_what_it_may_not_ask_and_what_does_not_fit) {
  const zookeeper_server server({.config = {"4lw.commands.whitelist=srvr", "maxSessionTimeout=20000", "tickTime=200"}});
  const client locks("zk://ann:secret@127.0.0.1:" + std::to_string(server.port()) + "/locks",
                     {.lease = milliseconds{10'000}});
  EXPECT_TRUE(says(find(locks, "watches"), "not allowed")) << find(locks, "watches").seen;
  EXPECT_NE(find(locks, "watches").advice.find("4lw.commands.whitelist"), std::string::npos);
  EXPECT_TRUE(says(find(locks, "server"), "ZooKeeper 3."));
  EXPECT_TRUE(says(find(locks, "sessions"), "to 20000 ms"));
  EXPECT_TRUE(says(find(locks, "acl"), "not there yet"));
  EXPECT_EQ(find(locks, "connection").is, verdict::warn) << "a password in the clear";
}

TEST(zookeeper_doctor, counts_the_members_and_names_the_one_that_is_down) {
  auto& servers = zookeeper_ensemble::shared();
  const client locks(servers.url("/counted"));
  EXPECT_TRUE(says(find(locks, "members"), "3 vote, so 1 may be down")) << find(locks, "members").seen;
  EXPECT_EQ(find(locks, "endpoints").is, verdict::ok) << find(locks, "endpoints").seen;
  EXPECT_TRUE(says(find(locks, "ensemble"), "leader")) << find(locks, "ensemble").seen;
  servers.servers()[2]->kill();
  const auto now = find(locks, "endpoints");
  EXPECT_EQ(now.is, verdict::warn);
  EXPECT_TRUE(says(now, std::to_string(servers.servers()[2]->port()))) << now.seen;
}

}  // namespace
}  // namespace interlock

#endif
