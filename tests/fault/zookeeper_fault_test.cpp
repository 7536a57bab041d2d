// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/agent.hpp"
#include "support/eventually.hpp"
#include "support/tcp_proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

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

/// One server for all of them, and a root for each.
struct zookeeper_fault : ::testing::Test {
  zookeeper_server& server = zookeeper_server::shared();
  const std::string root = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(zookeeper_fault, a_session_ended_behind_our_back_ends_its_holds_at_once_and_a_new_one_begins) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), root)), other(server.url(root));
  const auto held = locks.acquire("a");
  auto next = other.async_acquire("a");
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children(root + "/a")->size() == 2; }));
  std::int64_t session = 0;
  const auto nodes = peek.children(root + "/a").value();
  for (const auto& child : nodes)
    if (child.ends_with("0000000000")) session = peek.read(root + "/a/" + child)->owner;
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
  const client locks(zookeeper_server::url_at(network.port(), root));
  static_cast<void>(locks.acquire("warm"));
  auto peek = server.connect();
  for (int round = 0; round < 5; ++round) {
    network.lose_next_reply();
    auto held = locks.acquire("a", {.wait = 20s});
    EXPECT_EQ(peek.children(root + "/a")->size(), 1U) << "round " << round;
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(peek.children(root + "/a")->empty());
  }
  EXPECT_GE(network.seen().replies_lost, 5U);
}

TEST_F(zookeeper_fault, a_node_that_is_called_like_ours_in_another_session_is_not_taken_for_ours) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), root));
  static_cast<void>(locks.acquire("a"));
  network.cut_to_client();
  auto wait = locks.async_acquire("a");
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children(root + "/a")->size() == 1; }));
  const auto ours = only_child(peek, root + "/a");
  ASSERT_TRUE(peek.remove(ours));
  const auto planted = peek.create(ours.substr(0, ours.size() - 10), "", 3);
  network.heal();
  EXPECT_TRUE(eventually([&] { return peek.children(root + "/a")->size() == 2; })) << "one of its own, behind it";
  EXPECT_FALSE(wait.ready());
  EXPECT_TRUE(peek.remove(planted));
  EXPECT_TRUE(wait.get().valid());
}

TEST_F(zookeeper_fault, a_try_that_was_given_up_without_an_answer_leaves_no_node) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), root), {.patience = 500ms});
  static_cast<void>(locks.acquire("a"));
  network.cut_to_client();
  const auto reply = locks.attempt("a", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::indeterminate) << reply.error().message();
  network.heal();
  auto peek = server.connect();
  EXPECT_TRUE(eventually([&] { return peek.children(root + "/a")->empty(); }, 10s)) << "long before the lease is over";
}

TEST_F(zookeeper_fault, a_connection_that_is_reset_costs_nobody_a_hold_or_a_place) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), root)), other(server.url(root));
  const auto held = locks.acquire("a");
  auto theirs = other.acquire("b");
  auto wait = locks.async_acquire("b");
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children(root + "/b")->size() == 2; }));
  const auto before = *peek.children(root + "/b");
  for (int round = 0; round < 5; ++round) {
    network.reset();
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(*peek.children(root + "/b"), before);
  EXPECT_TRUE(theirs.release());
  EXPECT_TRUE(wait.get().valid()) << "the watch went with the connection and was set again";
}

TEST_F(zookeeper_fault, a_holder_cut_off_silently_knows_it_before_the_next_is_granted) {
  tcp_proxy network(server.port());
  const client locks(zookeeper_server::url_at(network.port(), root)), other(server.url(root));
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
  const client locks(server.url(root));
  const auto held = locks.acquire("a", {.lease = 10s});
  server.freeze();
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(held.valid());
  server.thaw();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 10s));
  EXPECT_EQ(server.connect().children(root + "/a")->size(), 1U);
}

TEST_F(zookeeper_fault, while_every_server_is_gone_a_holder_learns_its_loss_in_time_and_recovers_afterwards) {
  const client locks(server.url(root));
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
  const client locks(server.url(root)), other(server.url(root));
  auto held = locks.acquire("a");
  auto wait = other.async_acquire("a");
  {
    auto peek = server.connect();
    ASSERT_TRUE(eventually([&] { return peek.children(root + "/a")->size() == 2; }));
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

// Whoever lets go and comes back at once takes its place behind who was last before, without asking for the list.
TEST_F(zookeeper_fault, clients_that_come_back_at_once_are_served_in_turn_also_while_others_come_and_give_up) {
  constexpr std::size_t clients = 4, rounds = 60;
  std::vector<client> all;
  for (std::size_t i = 0; i < clients; ++i) all.emplace_back(server.url(root));
  std::atomic<std::size_t> left{clients};
  std::array<std::size_t, clients> served{};
  std::vector<fencing_token> tokens;  // written by who holds the lock
  std::function<void(std::size_t)> again = [&](std::size_t who) {
    all[who].async_acquire("a").then([&, who](result<guard> got) {
      if (got) {
        tokens.push_back(got->token());
        ++served[who];
      }
      const bool more = got && served[who] < rounds;
      got = failure(errc::closed);  // lets go
      if (more) return again(who);
      --left;
    });
  };
  for (std::size_t i = 0; i < clients; ++i) again(i);
  const client hasty(server.url(root));
  std::size_t had = 0;
  const auto end = std::chrono::steady_clock::now() + 60s;
  for (int i = 0; left > 0 && std::chrono::steady_clock::now() < end; ++i)
    if (const auto got = hasty.attempt("a", {.wait = milliseconds{i % 4}})) ++had;
  ASSERT_EQ(left, 0U) << "somebody was never woken; somebody else had it " << had << " times";
  for (const auto times : served) EXPECT_EQ(times, rounds);
  EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end(), [](auto before, auto after) { return !(before < after); }),
            tokens.end())
      << "tokens rise";
  EXPECT_TRUE(
      eventually([&] { return server.connect().children(root + "/a").value_or(std::vector<std::string>{}).empty(); }));
}

// Whoever waits so long is told when its own node goes; the grant of a permit removes that node.
TEST_F(zookeeper_fault, a_permit_that_was_waited_for_is_kept_and_given_back) {
  const client first(server.url(root)), second(server.url(root));
  auto held = semaphore(first, "a", 1).acquire();
  auto wait = semaphore(second, "a", 1).async_acquire();
  std::this_thread::sleep_for(200ms);
  ASSERT_TRUE(held.release());
  auto theirs = wait.get();
  auto peek = server.connect();
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(theirs.valid());
  EXPECT_EQ(peek.children(root + "/a/leases")->size(), 1U);
  EXPECT_TRUE(theirs.release());
  EXPECT_TRUE(peek.children(root + "/a/leases")->empty());
  EXPECT_TRUE(semaphore(first, "a", 1).try_acquire());
}

TEST_F(zookeeper_fault, a_parent_that_was_reaped_is_made_again_and_tokens_still_rise) {
  const client locks(server.url(root));
  auto first = locks.acquire("a");
  const auto token = first.token();
  EXPECT_TRUE(first.release());
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return !peek.children(root + "/a"); })) << "an empty container stays";
  const auto again = locks.acquire("a");
  EXPECT_GT(again.token(), token);
  EXPECT_EQ(only_child(peek, root + "/a").substr(only_child(peek, root + "/a").size() - 10), "0000000000")
      << "the servers' numbers have begun anew";
}

TEST_F(zookeeper_fault, whoever_contends_in_another_format_is_refused_and_not_ignored) {
  const client as_mutex(server.url(root)), as_rw(server.url(root + "?object=rw"));
  const auto held = as_mutex.acquire("a");
  const auto reply = as_rw.attempt("a", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::conflict) << reply.error().message();
  EXPECT_NE(reply.error().message().find("object=mutex"), std::string::npos) << reply.error().message();
  auto peek = server.connect();
  EXPECT_EQ(peek.children(root + "/a")->size(), 1U);
  EXPECT_TRUE(held.valid());
}

TEST_F(zookeeper_fault, curators_revoker_is_heeded) {
  const client locks(server.url(root));
  const auto held = locks.acquire("a");
  auto peek = server.connect();
  peek.write(only_child(peek, root + "/a"), "__REVOKE__");
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_EQ(held.why_lost(), loss_reason::broken);
}

TEST_F(zookeeper_fault, nodes_made_by_a_logged_in_client_are_nobody_elses) {
  const client locks("zk://ann:secret@127.0.0.1:" + std::to_string(server.port()) + root);
  auto held = locks.acquire("a");
  const client stranger(server.url(root));
  EXPECT_FALSE(stranger.try_acquire("a")) << "it excludes them all the same";
  auto peek = server.connect();
  const auto node = only_child(peek, root + "/a");
  EXPECT_THROW(peek.read(node), std::runtime_error);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(stranger.try_acquire("a"));
}

TEST_F(zookeeper_fault, a_killed_holder_and_killed_waiters_cost_one_session_in_all) {
  const auto url = server.url(root);
  agent holder({"hold", url, "a", "1000"});
  ASSERT_TRUE(holder.after("held "));
  agent one({"hold", url, "a", "1000"}), two({"hold", url, "a", "1000"});
  auto peek = server.connect();
  ASSERT_TRUE(eventually([&] { return peek.children(root + "/a")->size() == 3; }));
  const client locks(url);
  auto next = locks.async_acquire("a");
  ASSERT_TRUE(eventually([&] { return peek.children(root + "/a")->size() == 4; }));
  holder.kill();
  one.kill();
  two.kill();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(next.get().valid());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);
  EXPECT_TRUE(eventually([&] { return peek.children(root + "/a").value_or(std::vector<std::string>{}).empty(); }));
}

}  // namespace
}  // namespace interlock

#endif
