// SPDX-License-Identifier: MIT
// Groups of servers that other tests lean on: they find each other, fail over and move their keys.
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_sentinels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace interlock::test_support {
namespace {

using ::testing::HasSubstr;

TEST(redis_replicas, repeat_what_the_master_is_told) {
  redis_replicas servers(2, {.password = "open"});
  servers.master().command({"SET", "key", "value"});
  EXPECT_TRUE(eventually([&] { return servers.replica(1).command({"GET", "key"}) == "value"; }));
  servers.replica(0).restart();
  servers.await_links();
  EXPECT_EQ(servers.replica(0).command({"GET", "key"}), "value");
}

TEST(redis_sentinels, hand_over_when_asked) {
  redis_sentinels group;
  auto& old = group.master();
  EXPECT_EQ(&old, &group.server(0));
  auto& fresh = group.failover();
  EXPECT_NE(&fresh, &old);
  EXPECT_EQ(&group.master(), &fresh);
  EXPECT_EQ(fresh.command({"ROLE"})[0], "master");
}

TEST(redis_sentinels, replace_a_dead_master) {
  redis_sentinels group({.password = "open"});
  auto& old = group.master();
  old.kill();
  auto& fresh = group.await_master_other_than(old);
  EXPECT_EQ(fresh.command({"SET", "key", "value"}), "OK");
  old.restart();
  EXPECT_TRUE(eventually([&] { return old.command({"ROLE"})[0] == "slave"; })) << "it is told that times have changed";
}

TEST(redis_cluster, hands_over_when_asked) {
  redis_cluster cluster;
  EXPECT_EQ(cluster.masters().size(), 3U);
  EXPECT_EQ(cluster.slot_of("123456789"), 0x31C3) << "the checksum of this text is in Redis' own documentation";
  auto& old = cluster.master_of("key");
  old.command({"SET", "key", "value"});
  auto& fresh = cluster.failover(old);
  EXPECT_NE(&fresh, &old);
  EXPECT_EQ(&cluster.master_of("key"), &fresh);
  EXPECT_EQ(fresh.command({"GET", "key"}), "value");
}

TEST(redis_cluster, replaces_a_dead_master) {
  redis_cluster cluster;
  auto& old = cluster.master_of("key");
  old.kill();
  auto& fresh = cluster.await_master_other_than(old, cluster.slot_of("key"));
  EXPECT_EQ(fresh.command({"SET", "key", "value"}), "OK");
}

TEST(redis_cluster, moves_a_slot_in_steps) {
  redis_cluster cluster;
  const auto slot = cluster.slot_of("{tag}1");
  auto& from = cluster.master_of("{tag}1");
  auto& to = from.port() == cluster.masters()[0]->port() ? *cluster.masters()[1] : *cluster.masters()[0];
  from.command({"SET", "{tag}1", "one"});

  cluster.begin_move(slot, to);
  EXPECT_EQ(from.command({"GET", "{tag}1"}), "one") << "not moved yet";
  EXPECT_THAT(from.ask({"GET", "{tag}2"}).text, HasSubstr("ASK " + std::to_string(slot)));
  EXPECT_THAT(to.ask({"GET", "{tag}1"}).text, HasSubstr("MOVED " + std::to_string(slot)));

  cluster.move_keys(slot, to);
  EXPECT_THAT(from.ask({"GET", "{tag}1"}).text, HasSubstr("ASK " + std::to_string(slot)));
  auto peek = to.connect();
  peek.command({"ASKING"});
  EXPECT_EQ(peek.command({"GET", "{tag}1"}), "one");

  cluster.finish_move(slot, to);
  EXPECT_THAT(from.ask({"GET", "{tag}1"}).text, HasSubstr("MOVED " + std::to_string(slot)));
  EXPECT_EQ(to.command({"GET", "{tag}1"}), "one");
  EXPECT_EQ(&cluster.master_of("{tag}2"), &to);
}

}  // namespace
}  // namespace interlock::test_support
