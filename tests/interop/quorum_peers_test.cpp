// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/peer_library.hpp"
#include "support/eventually.hpp"
#include "support/redis_nodes.hpp"
#include "support/temporary_folder.hpp"

#include <interlock/interlock.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>

/// Libraries that lock a majority of the same five servers. Time limits are for "never", not for "late".
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test_support::agent;

class quorum_peers : public ::testing::TestWithParam<peer_library> {
 protected:
  void SetUp() override {
    if (!GetParam().installed()) GTEST_SKIP() << GetParam().name << " is not installed; ./dev test does that";
  }
  agent theirs(const std::string& verb, milliseconds ttl, const std::vector<std::string>& more = {}) {
    std::string sockets;
    for (std::size_t i = 0; i < nodes.size(); ++i) sockets += (i == 0 ? "" : ",") + nodes[i].socket().string();
    std::vector<std::string> arguments{sockets, "orders", std::to_string(ttl.count())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return GetParam().start(verb, arguments);
  }
  /// Until a majority of the servers has forgotten who has it now.
  milliseconds time_left() {
    std::vector<milliseconds> each;
    for (std::size_t i = 0; i < nodes.size(); ++i) each.emplace_back(nodes[i].command({"PTTL", "orders"}).number);
    std::sort(each.begin(), each.end());
    return each[each.size() / 2];
  }

  test_support::redis_nodes nodes{5};
};

TEST_P(quorum_peers, nobody_loses_an_update_when_both_sides_count) {
  // node-redlock 5 keeps the votes of a lost round while it tries again, and is in its own way until their time is
  // over: so that time is short here, and its rounds are few.
  const int their_rounds = GetParam().name.starts_with("redlock") ? 5 : 40;
  const int our_rounds = 100, total = 2 * their_rounds + 2 * our_rounds;
  const test_support::temporary_folder folder("interop");
  const auto file = (folder.path() / "counter").string();
  std::ofstream(file) << 0;
  const client locks(nodes.url());
  auto gate = locks.acquire("orders");
  std::vector<agent> all;
  for (int i = 0; i < 2; ++i) all.push_back(theirs("count", 3s, {file, std::to_string(their_rounds)}));
  for (auto& one : all) ASSERT_TRUE(one.after("asking"));
  for (int i = 0; i < 2; ++i)
    all.push_back(agent({"count", nodes.url(), "orders", file, std::to_string(our_rounds), "20000", "4"}));
  ASSERT_TRUE(test_support::eventually([&] { return locks.inspect("orders").waiters.size() == 2; }));
  ASSERT_TRUE(gate.release());  // all four want it: it is a contest
  std::vector<bool> was_ours(static_cast<std::size_t>(total) + 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    while (const auto number = all[i].after("did ", 100s)) was_ours.at(std::stoul(*number)) = i >= 2;
    EXPECT_EQ(all[i].wait(), 0);
  }
  int number = 0, turns = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, total);
  for (std::size_t i = 1; i < was_ours.size(); ++i) turns += was_ours[i] != was_ours[i - 1];
  EXPECT_GE(turns, 4) << "one side was done before the other began";
}

TEST_P(quorum_peers, each_excludes_the_other) {
  const client locks(nodes.url());
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("held", 30s));
  EXPECT_FALSE(locks.try_acquire("orders"));
  they.say("release");
  ASSERT_TRUE(they.after("released", 30s));
  auto held = locks.attempt("orders", {.wait = 30s});
  ASSERT_TRUE(held) << held.error().message();
  auto others = theirs("try", 60s, {"5"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(others.line(30s).value_or("nothing"), "busy");
  EXPECT_TRUE(held->release());
}

TEST_P(quorum_peers, when_they_are_killed_we_get_it_after_their_time_and_not_before) {
  auto they = theirs("hold", 2s);
  ASSERT_TRUE(they.after("held", 30s));
  const client locks(nodes.url());
  they.kill();
  const auto left = time_left();
  const auto begin = steady_clock::now();
  EXPECT_TRUE(locks.acquire("orders", {.wait = 30s}).valid());
  EXPECT_GE(steady_clock::now() - begin, left - 20ms);
  EXPECT_LT(steady_clock::now() - begin, left + 10s);
}

TEST_P(quorum_peers, when_we_are_killed_they_get_it_after_our_lease_and_not_before) {
  agent we({"hold", nodes.url(), "orders", "2000"});
  ASSERT_TRUE(we.after("held"));
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("asking"));
  we.kill();
  const auto left = time_left();
  const auto begin = steady_clock::now();
  ASSERT_TRUE(they.after("held", 30s));
  EXPECT_GE(steady_clock::now() - begin, left - 50ms);
  EXPECT_LT(steady_clock::now() - begin, left + 10s);
}

TEST_P(quorum_peers, their_late_release_does_not_take_it_from_us) {
  auto they = theirs("hold", 300ms);
  ASSERT_TRUE(they.after("held", 30s));
  std::set<std::string> theirs_there;
  for (std::size_t i = 0; i < nodes.size(); ++i) theirs_there.insert(nodes[i].command({"GET", "orders"}).text);
  const auto ours_there = [&] {
    std::size_t out = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto value = nodes[i].command({"GET", "orders"});
      if (!value.nil() && !theirs_there.contains(value.text)) ++out;
    }
    return out;
  };
  const client locks(nodes.url());
  const auto held = locks.acquire("orders", {.wait = 30s});
  const auto before = ours_there();  // a node where theirs ran out last may have refused us
  ASSERT_GE(before, nodes.size() / 2 + 1);
  they.say("release");
  ASSERT_TRUE(they.line(30s));
  EXPECT_TRUE(held.valid());
  EXPECT_GE(ours_there(), before);
}

TEST_P(quorum_peers, whoever_of_us_is_frozen_past_its_lease_is_told_and_takes_nothing_from_them) {
  agent we({"hold", nodes.url(), "orders", "800"});
  ASSERT_TRUE(we.after("held"));
  we.freeze();
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("held", 30s));
  we.thaw();
  EXPECT_TRUE(we.after("lost"));
  we.say("release");
  EXPECT_TRUE(we.after("lost"));
  EXPECT_GE(nodes.having("orders"), 3U);
  they.say("release");
  EXPECT_TRUE(they.after("released", 30s)) << "it was theirs until then";
}

std::vector<peer_library> quorum_libraries() {
  auto all = plain_libraries();
  std::erase_if(all, [](const peer_library& one) { return one.name == "redis_py" || one.name == "redislock"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(, quorum_peers, ::testing::ValuesIn(quorum_libraries()),
                         [](const ::testing::TestParamInfo<peer_library>& which) { return which.param.name; });

}  // namespace
}  // namespace interlock::interop

#endif
