// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/peer_library.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_folder.hpp"

#include <interlock/interlock.hpp>

#include <chrono>
#include <fstream>
#include <thread>

/// Other libraries' processes and ours on the same keys. Limits on how soon are those of who asks how often: we
/// when told and often, they every few hundred milliseconds.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test_support::agent;

class plain_peers : public ::testing::TestWithParam<peer_library> {
 protected:
  void SetUp() override {
    if (!peer().installed()) GTEST_SKIP() << peer().name << " is not installed; ./dev test does that";
  }

  [[nodiscard]] const peer_library& peer() const { return GetParam(); }
  [[nodiscard]] std::string url() const { return server.url("layout=plain"); }
  /// The peer's process, asking for the lock.
  agent theirs(const std::string& verb, milliseconds ttl, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{server.socket(), "orders", std::to_string(ttl.count())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return peer().start(verb, arguments);
  }
  agent ours(milliseconds lease) const { return agent({"hold", url(), "orders", std::to_string(lease.count())}); }
  [[nodiscard]] milliseconds time_left() const { return milliseconds{server.command({"PTTL", "orders"}).number}; }

  test_support::redis_server server;
};

TEST_P(plain_peers, nobody_loses_an_update_when_both_sides_count) {
  constexpr int their_rounds = 30, our_rounds = 150, total = 2 * their_rounds + 2 * our_rounds;
  const test_support::temporary_folder folder("interop");
  const auto file = (folder.path() / "counter").string();
  std::ofstream(file) << 0;
  const client locks(url());
  auto gate = locks.acquire("orders");
  std::vector<agent> all;
  for (int i = 0; i < 2; ++i) all.push_back(theirs("count", 20s, {file, std::to_string(their_rounds)}));
  for (auto& one : all) ASSERT_TRUE(one.after("asking"));
  for (int i = 0; i < 2; ++i)
    all.push_back(agent({"count", url(), "orders", file, std::to_string(our_rounds), "20000", "4"}));
  ASSERT_TRUE(test_support::eventually([&] { return locks.inspect("orders").waiters.size() == 2; }));
  ASSERT_TRUE(gate.release());  // all four want it: it is a contest
  std::vector<bool> was_ours(total + 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    while (const auto number = all[i].after("did ", 60s)) was_ours.at(std::stoul(*number)) = i >= 2;
    EXPECT_EQ(all[i].wait(), 0);
  }
  int number = 0, turns = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, total);
  for (std::size_t i = 1; i < was_ours.size(); ++i) turns += was_ours[i] != was_ours[i - 1];
  EXPECT_GE(turns, 6) << "one side was done before the other began";
}

TEST_P(plain_peers, we_get_it_soon_after_they_let_go) {
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("held"));
  const client locks(url());
  auto wait = locks.async_acquire("orders");
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(wait.ready());
  they.say("release");
  const auto begin = steady_clock::now();
  EXPECT_TRUE(wait.get().valid());
  EXPECT_LE(steady_clock::now() - begin, 1s) << "it waited for the lease";
  EXPECT_TRUE(they.after("released"));
}

TEST_P(plain_peers, they_get_it_soon_after_we_let_go) {
  const client locks(url());
  auto held = locks.acquire("orders", {.lease = 60s});
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("asking"));
  EXPECT_FALSE(they.line(500ms)) << "they have what we hold";
  const auto begin = steady_clock::now();
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(they.after("held"));
  EXPECT_LE(steady_clock::now() - begin, 2s) << "they waited for the lease";
}

TEST_P(plain_peers, when_they_are_killed_we_get_it_after_their_time_and_not_before) {
  auto they = theirs("hold", 2s);
  ASSERT_TRUE(they.after("held"));
  const client locks(url());
  const auto left = time_left();
  const auto begin = steady_clock::now();
  they.kill();
  EXPECT_TRUE(locks.acquire("orders").valid());
  EXPECT_GE(steady_clock::now() - begin, left - 20ms);
  EXPECT_LT(steady_clock::now() - begin, left + 10s);
}

TEST_P(plain_peers, when_we_are_killed_they_get_it_after_our_lease_and_not_before) {
  auto we = ours(2s);
  ASSERT_TRUE(we.after("held"));
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("asking"));
  we.kill();
  const auto left = time_left();
  const auto begin = steady_clock::now();
  ASSERT_TRUE(they.after("held"));
  EXPECT_GE(steady_clock::now() - begin, left - 50ms);
  EXPECT_LT(steady_clock::now() - begin, left + 10s);
}

TEST_P(plain_peers, what_they_renew_stays_theirs) {
  auto they = theirs("renew", 1500ms);
  ASSERT_TRUE(they.after("held"));
  const client locks(url());
  for (const auto end = steady_clock::now() + 4s; steady_clock::now() < end; std::this_thread::sleep_for(5ms))
    ASSERT_FALSE(locks.try_acquire("orders"));
  they.say("owned");
  EXPECT_TRUE(they.after("owned"));
  they.say("release");
  EXPECT_TRUE(they.after("released"));
  EXPECT_TRUE(locks.acquire("orders", {.wait = 20s}).valid());
}

TEST_P(plain_peers, what_we_renew_stays_ours) {
  const client locks(url());
  const auto held = locks.acquire("orders", {.lease = 1500ms});
  const auto begin = steady_clock::now();
  auto they = theirs("try", 60s, {"150"});
  for (int i = 0; i < 150; ++i) ASSERT_EQ(they.line().value_or("nothing"), "busy");
  EXPECT_EQ(they.wait(), 0);
  EXPECT_GT(steady_clock::now() - begin, 2 * 1500ms) << "this did not last for several leases";
  EXPECT_TRUE(held.valid());
}

TEST_P(plain_peers, their_late_release_does_not_take_it_from_us) {
  auto they = theirs("hold", 300ms);
  ASSERT_TRUE(they.after("held"));
  const client locks(url());
  const auto held = locks.acquire("orders", {.wait = 20s});
  they.say("release");
  they.after("");
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(server.command({"EXISTS", "orders"}), 1);
}

TEST_P(plain_peers, whoever_of_us_is_frozen_past_its_lease_is_told_and_takes_nothing_from_them) {
  auto we = ours(800ms);
  ASSERT_TRUE(we.after("held"));
  we.freeze();
  auto they = theirs("hold", 60s);
  ASSERT_TRUE(they.after("held"));
  we.thaw();
  EXPECT_TRUE(we.after("lost"));
  we.say("release");
  EXPECT_TRUE(we.after("lost"));
  they.say("owned");
  EXPECT_TRUE(they.after("owned"));
}

INSTANTIATE_TEST_SUITE_P(, plain_peers, ::testing::ValuesIn(plain_libraries()),
                         [](const ::testing::TestParamInfo<peer_library>& which) { return which.param.name; });

}  // namespace
}  // namespace interlock::interop

#endif
