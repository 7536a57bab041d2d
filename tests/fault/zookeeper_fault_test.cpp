// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/agent.hpp"
#include "support/eventually.hpp"
#include "support/tcp_proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

/// What can happen to ZooKeeper's servers, sessions and nodes, and on the way to them.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

// How servers make a session's password: whoever knows the session can end it. Java's random numbers, seeded with it.
std::string password_of(std::int64_t session) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1, factor = 0x5DEECE66DULL;
  auto seed = ((static_cast<std::uint64_t>(session) ^ 0xB3415C00ULL) ^ factor) & mask;
  std::string out;
  while (out.size() < 16) {
    seed = (seed * factor + 0xB) & mask;
    const auto number = static_cast<std::uint32_t>(seed >> 16);
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift);
  }
  return out;
}

std::string only_child(zookeeper_peek& peek, const std::string& path) {
  const auto all = peek.children(path).value();
  if (all.size() != 1) throw std::runtime_error(path + " has " + std::to_string(all.size()) + " children");
  return path + "/" + all.front();
}

struct zookeeper_fault : ::testing::Test {
  zookeeper_server server{};
};

TEST_F(zookeeper_fault, a_session_ended_behind_our_back_ends_its_holds_at_once_and_a_new_one_begins) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), "/locks")), other(server.url("/locks"));
  const auto held = locks.acquire("a");
  auto next = other.async_acquire("a");
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children("/locks/a")->size() == 2; }));
  std::int64_t session = 0;
  const auto nodes = peek.children("/locks/a").value();
  for (const auto& child : nodes)
    if (child.ends_with("0000000000")) session = peek.read("/locks/a/" + child)->owner;
  network.cut();  // or it would take its session back as soon as somebody else has it
  zookeeper_peek(server.port(), session, password_of(session)).close_session();
  network.heal();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s)) << "its lease is 30 s";
  EXPECT_EQ(held.why_lost(), loss_reason::store_reset);
  auto theirs = next.get();
  EXPECT_GT(theirs.token(), held.token());
  EXPECT_TRUE(theirs.release());
  const auto again = locks.acquire("a", {.wait = 10s});
  EXPECT_GT(again.token(), theirs.token());
}

TEST_F(zookeeper_fault, a_grant_whose_answer_was_lost_is_found_again_and_not_made_twice) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), "/locks"));
  static_cast<void>(locks.acquire("warm"));
  auto peek = server.connect();
  for (int round = 0; round < 5; ++round) {
    network.lose_next_reply();
    auto held = locks.acquire("a", {.wait = 20s});
    EXPECT_EQ(peek.children("/locks/a")->size(), 1U) << "round " << round;
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(peek.children("/locks/a")->empty());
  }
  EXPECT_GE(network.seen().replies_lost, 5U);
}

TEST_F(zookeeper_fault, a_try_that_was_given_up_without_an_answer_leaves_no_node) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), "/locks"), {.patience = 500ms});
  static_cast<void>(locks.acquire("a"));
  network.cut_to_client();
  const auto reply = locks.attempt("a", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::indeterminate) << reply.error().message();
  network.heal();
  auto peek = server.connect();
  EXPECT_TRUE(eventually([&] { return peek.children("/locks/a")->empty(); }, 10s)) << "long before the lease is over";
}

TEST_F(zookeeper_fault, a_connection_that_is_reset_costs_nobody_a_hold_or_a_place) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), "/locks")), other(server.url("/locks"));
  const auto held = locks.acquire("a");
  auto theirs = other.acquire("b");
  auto wait = locks.async_acquire("b");
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children("/locks/b")->size() == 2; }));
  const auto before = *peek.children("/locks/b");
  for (int round = 0; round < 5; ++round) {
    network.reset();
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(*peek.children("/locks/b"), before);
  EXPECT_TRUE(theirs.release());
  EXPECT_TRUE(wait.get().valid()) << "the watch went with the connection and was set again";
}

TEST_F(zookeeper_fault, a_holder_cut_off_silently_knows_it_before_the_next_is_granted) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), "/locks")), other(server.url("/locks"));
  const auto held = locks.acquire("a", {.lease = 1s});
  auto next = other.async_acquire("a", {.lease = 1s});
  const auto begin = std::chrono::steady_clock::now();
  network.cut();
  EXPECT_TRUE(eventually([&] { return !held.valid(); }, 5s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  EXPECT_FALSE(next.ready());
  const auto theirs = next.get();
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  EXPECT_GT(theirs.token(), held.token());
}

TEST_F(zookeeper_fault, a_server_frozen_for_less_than_the_lease_costs_nothing) {
  const client locks(server.url("/locks"));
  const auto held = locks.acquire("a", {.lease = 10s});
  server.freeze();
  std::this_thread::sleep_for(1500ms);
  server.thaw();
  std::this_thread::sleep_for(500ms);
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(server.connect().children("/locks/a")->size(), 1U);
}

TEST_F(zookeeper_fault, while_every_server_is_gone_a_holder_learns_its_loss_in_time_and_recovers_afterwards) {
  const client locks(server.url("/locks"));
  const auto held = locks.acquire("a", {.lease = 1s});
  const auto begin = std::chrono::steady_clock::now();
  server.kill();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  const auto refused = locks.attempt("b", {.wait = 0ms});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unavailable) << refused.error().message();
  server.restart();
  const auto again = locks.attempt("a", {.wait = 30s});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_GT(again->token(), held.token());
}

TEST_F(zookeeper_fault, servers_that_come_back_within_the_lease_find_the_holder_and_the_queue_as_they_were) {
  const client locks(server.url("/locks")), other(server.url("/locks"));
  auto held = locks.acquire("a");
  auto wait = other.async_acquire("a");
  {
    auto peek = server.connect();
    ASSERT_TRUE(eventually([&] { return peek.children("/locks/a")->size() == 2; }));
  }
  server.kill();
  std::this_thread::sleep_for(300ms);
  server.restart();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 15s));
  EXPECT_FALSE(wait.ready());
  const auto released = held.release();
  EXPECT_TRUE(released) << released.error().message();
  EXPECT_GT(wait.get().token(), held.token());
}

TEST_F(zookeeper_fault, a_parent_that_was_reaped_is_made_again_and_tokens_still_rise) {
  const client locks(server.url("/locks"));
  auto first = locks.acquire("a");
  const auto token = first.token();
  EXPECT_TRUE(first.release());
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return !peek.children("/locks/a"); })) << "an empty container stays";
  const auto again = locks.acquire("a");
  EXPECT_GT(again.token(), token);
  EXPECT_EQ(only_child(peek, "/locks/a").substr(only_child(peek, "/locks/a").size() - 10), "0000000000")
      << "the servers' numbers have begun anew";
}

TEST_F(zookeeper_fault, whoever_contends_in_another_format_is_refused_and_not_ignored) {
  const client as_mutex(server.url("/locks")), as_rw(server.url("/locks?object=rw"));
  const auto held = as_mutex.acquire("a");
  const auto reply = as_rw.attempt("a", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::conflict) << reply.error().message();
  EXPECT_NE(reply.error().message().find("object=mutex"), std::string::npos) << reply.error().message();
  auto peek = server.connect();
  EXPECT_EQ(peek.children("/locks/a")->size(), 1U);
  EXPECT_TRUE(held.valid());
}

TEST_F(zookeeper_fault, curators_revoker_is_heeded) {
  const client locks(server.url("/locks"));
  const auto held = locks.acquire("a");
  auto peek = server.connect();
  peek.write(only_child(peek, "/locks/a"), "__REVOKE__");
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_EQ(held.why_lost(), loss_reason::broken);
}

TEST_F(zookeeper_fault, nodes_made_by_a_logged_in_client_are_nobody_elses) {
  const client locks("zk://ann:secret@127.0.0.1:" + std::to_string(server.port()) + "/locks");
  auto held = locks.acquire("a");
  const client stranger(server.url("/locks"));
  EXPECT_FALSE(stranger.try_acquire("a")) << "it excludes them all the same";
  auto peek = server.connect();
  const auto node = only_child(peek, "/locks/a");
  EXPECT_THROW(peek.read(node), std::runtime_error);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(stranger.try_acquire("a"));
}

TEST_F(zookeeper_fault, a_killed_holder_and_killed_waiters_cost_one_session_in_all) {
  const auto url = server.url("/locks");
  agent holder({"hold", url, "a", "1000"});
  ASSERT_TRUE(holder.after("held "));
  agent one({"hold", url, "a", "1000"}), two({"hold", url, "a", "1000"});
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children("/locks/a")->size() == 3; }));
  const client locks(url);
  auto next = locks.async_acquire("a");
  ASSERT_TRUE(eventually([&] { return peek.children("/locks/a")->size() == 4; }));
  holder.kill();
  one.kill();
  two.kill();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(next.get().valid());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);
  EXPECT_TRUE(eventually([&] { return peek.children("/locks/a").value_or(std::vector<std::string>{}).empty(); }));
}

TEST(zookeeper_ensemble_fault, killing_the_leader_costs_no_hold_and_no_place_in_the_queue) {
  zookeeper_ensemble servers;
  const client locks(servers.url("/locks")), other(servers.url("/locks"));
  auto held = locks.acquire("a");
  auto wait = other.async_acquire("a");
  {
    auto peek = servers.follower().connect();
    ASSERT_TRUE(eventually([&] { return peek.children("/locks/a").value_or(std::vector<std::string>{}).size() == 2; }));
  }
  servers.leader().kill();
  ASSERT_TRUE(eventually([&] { return locks.attempt("b", {.wait = 1s}).has_value(); })) << "no leader any more";
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(wait.ready());
  ASSERT_TRUE(held.release());
  auto theirs = wait.get();
  EXPECT_GT(theirs.token(), held.token());
}

TEST(zookeeper_ensemble_fault, the_server_we_talk_to_may_freeze_and_the_session_goes_on_at_another) {
  zookeeper_ensemble servers;
  const client locks(servers.url("/locks"));
  const auto held = locks.acquire("a", {.lease = 8s});
  // Which one it is nobody says: freeze one after the other.
  for (auto& one : servers.servers()) {
    one->freeze();
    std::this_thread::sleep_for(4s);
    EXPECT_TRUE(held.valid());
    one->thaw();
    ASSERT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 10s));
  }
  auto peek = servers.follower().connect();
  EXPECT_EQ(peek.children("/locks/a")->size(), 1U);
}

TEST(zookeeper_ensemble_fault, a_minority_grants_nothing) {
  zookeeper_ensemble servers;
  const client locks(servers.url("/locks"), {.patience = 1s});
  const auto held = locks.acquire("a", {.lease = 2s});
  servers.servers()[0]->kill();
  servers.servers()[1]->kill();
  const auto reply = locks.attempt("b", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(eventually([&] { return !held.valid(); }, 5s));
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  servers.servers()[0]->restart();
  EXPECT_TRUE(eventually([&] { return locks.attempt("a", {.wait = 5s}).has_value(); }));
}

}  // namespace
}  // namespace interlock

#endif
