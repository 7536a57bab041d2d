// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_nodes.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// Five masters, some of which fail: what the fault matrix says of Redlock.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::redis_nodes;
using test_support::ways_to_nodes;

struct quorum_fault : ::testing::Test {
  redis_nodes nodes{5};
};

// ---- a minority

TEST_F(quorum_fault, two_of_five_killed_cost_nothing) {
  const client first(nodes.url()), second(nodes.url());
  auto held = first.acquire("orders", {.lease = 600ms});
  nodes[1].kill();
  nodes[4].kill();
  std::this_thread::sleep_for(1'500ms);  // more than two leases
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(second.try_acquire("orders"));
  const auto token = held.token();
  EXPECT_TRUE(held.release());
  const auto next = second.acquire("orders", {.wait = 20s});
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(client(nodes.url()).try_acquire("stock")) << "whoever connects now";
}

TEST_F(quorum_fault, two_of_five_frozen_cost_nothing_and_nothing_is_left_on_them) {
  const client first(nodes.url()), second(nodes.url());
  auto held = first.acquire("orders", {.lease = 1s});
  nodes[0].freeze();
  nodes[3].freeze();
  std::this_thread::sleep_for(2'500ms);
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(second.try_acquire("orders"));
  EXPECT_TRUE(held.release());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(second.acquire("stock", {.wait = 20s}).release());
  nodes[0].thaw();
  nodes[3].thaw();
  EXPECT_TRUE(eventually([&] { return nodes.having("orders") == 0 && nodes.having("stock") == 0; }))
      << "what reached them late";
}

TEST_F(quorum_fault, three_of_five_killed_are_an_outage_and_never_a_grant) {
  const client first(nodes.url()), second(nodes.url("", "redlock"), {.patience = 500ms});
  const auto held = first.acquire("orders", {.lease = 1s});
  for (const std::size_t i : {0U, 2U, 4U}) nodes[i].kill();
  const auto reply = second.attempt("stock", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  EXPECT_THROW(client{nodes.url()}, lock_error) << "too few to begin with";
  EXPECT_TRUE(eventually([&] { return nodes.having("stock") == 0; })) << "votes of a minority are given back";
}

TEST_F(quorum_fault, a_lost_reply_is_a_lost_vote_and_no_error) {
  ways_to_nodes ways(nodes);
  const client locks(ways.url());
  EXPECT_TRUE(locks.acquire("warm").release());
  for (int round = 0; round < 5; ++round) {
    for (const std::size_t i : {0U, 1U}) ways[i].lose_next_reply();
    auto held = locks.attempt("orders", {.wait = 20s});
    ASSERT_TRUE(held) << held.error().message();
    EXPECT_TRUE(held->release());
    EXPECT_TRUE(eventually([&] { return nodes.having("orders") == 0; })) << "round " << round;
  }
}

// ---- who is cut off

TEST_F(quorum_fault, a_client_cut_off_from_one_node_goes_on) {
  ways_to_nodes ways(nodes);
  const client locks(ways.url()), other(nodes.url());
  auto held = locks.acquire("orders", {.lease = 600ms});
  ways.cut({2});
  std::this_thread::sleep_for(1'500ms);
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(other.try_acquire("orders"));
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(locks.acquire("orders", {.wait = 20s}).valid());
}

TEST_F(quorum_fault, a_holder_cut_off_from_a_majority_knows_it_before_anyone_else_is_granted) {
  ways_to_nodes ways(nodes);
  const client locks(ways.url()), other(nodes.url());
  const auto held = locks.acquire("orders", {.lease = 1s});
  ways.cut({0, 1, 2});
  std::optional<guard> next;
  while (!next) next = other.try_acquire("orders");
  EXPECT_FALSE(held.valid());
  EXPECT_GT(next->token(), held.token());
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
}

// ---- a node that forgets

/// Holds a lock on exactly three nodes, the last of which then forgets it.
struct quorum_majority : quorum_fault {
  ways_to_nodes ways{nodes};
  std::optional<client> holder;
  std::optional<guard> held;

  void hold(milliseconds lease) {
    ways.refuse({3, 4});
    holder.emplace(ways.url());
    held = holder->acquire("orders", {.lease = lease});
    ASSERT_TRUE(eventually([&] { return nodes.having("orders") == 3; }));
  }
};

TEST_F(quorum_majority, a_node_restarted_empty_does_not_make_a_second_majority) {
  const client before(nodes.url("lease=3s"));
  hold(2s);
  nodes[2].restart();
  const client after(nodes.url("lease=3s"));
  ASSERT_EQ(nodes.having("orders"), 2U) << "three nodes would let anyone in who does not know";
  ASSERT_TRUE(eventually([&] { return nodes[2].info("clients")["connected_clients"] >= "3"; }));
  for (const auto end = std::chrono::steady_clock::now() + 1s; std::chrono::steady_clock::now() < end;) {
    EXPECT_FALSE(before.try_acquire("orders")) << "it saw the restart";
    EXPECT_FALSE(after.try_acquire("orders")) << "it came later and saw that this node remembers nobody";
    std::this_thread::sleep_for(20ms);
  }
  const auto released = held->release();
  EXPECT_TRUE(released || released.error() == errc::lost) << "two nodes are no majority any more";
  EXPECT_TRUE(after.acquire("orders", {.wait = 20s}).valid()) << "three others are enough";
}

TEST_F(quorum_fault, after_one_lease_a_restarted_node_counts_again) {
  const client locks(nodes.url("lease=2s"));
  EXPECT_TRUE(locks.acquire("warm").release());
  nodes[2].restart();
  nodes[3].kill();
  nodes[4].kill();
  const auto begin = std::chrono::steady_clock::now();
  auto held = locks.attempt("orders", {.wait = 30s});
  for (int tries = 0; !held && tries < 10; ++tries) held = locks.attempt("orders", {.wait = 30s});
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s) << "not before";
}

// ---- a clock that is set

TEST_F(quorum_fault, one_clock_moved_takes_one_vote_and_no_lock) {
  const client first(nodes.url()), second(nodes.url());
  auto held = first.acquire("orders", {.lease = 1s});
  nodes.clock(2).move(60s);
  ASSERT_TRUE(eventually([&] { return nodes.having("orders") == 4; })) << "the clock was not moved";
  for (const auto end = std::chrono::steady_clock::now() + 2s; std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(20ms)) {
    ASSERT_TRUE(held.valid());
    ASSERT_FALSE(second.try_acquire("orders"));
  }
  nodes.clock(2).move(-60s);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(second.acquire("orders", {.wait = 20s}).valid());
}

// The known weakness: the matrix says that two may act, and that only the token keeps them apart.
TEST_F(quorum_majority, a_clock_moved_under_a_bare_majority_lets_a_second_in_and_the_token_still_orders_them) {
  const client other(nodes.url());
  hold(5s);
  nodes.clock(2).move(60s);
  const auto next = other.acquire("orders", {.wait = 20s});
  EXPECT_GT(next.token(), held->token());
  EXPECT_TRUE(eventually([&] { return held->lost().stop_requested(); })) << "it is told, though late";
}

TEST_F(quorum_fault, tokens_rise_over_10000_grants_with_clocks_minutes_apart_whatever_majority_gave_them) {
  EXPECT_TRUE(client(nodes.url()).acquire("warm").release()) << "whoever comes first must know that all are new";
  const std::vector<milliseconds> apart{0s, 2min, -3min, 5min, -1min};
  for (std::size_t i = 0; i < 5; ++i) nodes.clock(i).move(apart[i]);
  std::vector<std::unique_ptr<ways_to_nodes>> ways;
  std::vector<client> clients;
  for (std::size_t i = 0; i < 5; ++i) {  // each reaches three nodes, and no two the same three
    ways.push_back(std::make_unique<ways_to_nodes>(nodes));
    ways.back()->refuse({i, (i + 1) % 5});
    clients.emplace_back(ways.back()->url());
  }
  fencing_token last{0};
  for (std::size_t grant = 0; grant < 10'000; ++grant) {
    auto held = clients[grant * 3 % 5].attempt("orders", {.wait = 30s});
    ASSERT_TRUE(held) << held.error().message();
    ASSERT_GT(held->token(), last) << "grant " << grant;
    last = held->token();
    ASSERT_TRUE(held->release());
  }
}

// ---- nothing is left behind

TEST_F(quorum_fault, clients_that_come_and_go_in_a_crowd_leave_nothing) {
  {
    const client holder(nodes.url());
    const auto held = holder.acquire("orders", {.lease = 30s});
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(client(nodes.url()).try_acquire("orders"));
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(client(nodes.url()).attempt("orders", {.wait = 30ms}));
  }
  EXPECT_TRUE(eventually([&] { return nodes.having("orders") == 0; }, 5s)) << "long before the lease of 30 s";
  EXPECT_TRUE(client(nodes.url()).try_acquire("orders"));
}

TEST_F(quorum_fault, split_votes_resolve) {
  constexpr int rounds = 20;
  std::vector<client> hosts;
  for (int i = 0; i < 5; ++i) hosts.emplace_back(nodes.url());
  int counter = 0;  // not atomic: the lock is what protects it
  {
    std::vector<std::jthread> crowd;
    for (auto& host : hosts)
      crowd.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          const auto held = host.acquire("orders", {.wait = 60s});
          ++counter;
        }
      });
  }
  EXPECT_EQ(counter, 5 * rounds);
}

TEST(quorum_dual, one_of_two_down_is_an_outage) {
  redis_nodes nodes(2);
  const client locks(nodes.url("", "redis+dual"), {.patience = 500ms});
  EXPECT_TRUE(locks.acquire("orders").release());
  nodes[1].kill();
  const auto reply = locks.attempt("orders", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(eventually([&] { return nodes.having("orders") == 0; }));
}

// ---- the doctor

std::string verdict_of(const std::vector<store_check>& all, std::string_view check) {
  std::string out;
  for (const auto& one : all)
    if (one.check == check) out += (one.is == store_check::verdict::ok ? "ok: " : "bad: ") + one.seen + "\n";
  return out;
}

TEST_F(quorum_fault, the_doctor_sees_clocks_apart_and_nodes_that_are_down) {
  nodes.clock(1).move(5s);
  nodes[3].kill();
  const auto seen = client(nodes.url()).examine();
  EXPECT_TRUE(verdict_of(seen, "masters").starts_with("ok")) << verdict_of(seen, "masters");
  EXPECT_TRUE(verdict_of(seen, "clocks").starts_with("bad")) << verdict_of(seen, "clocks");
  EXPECT_TRUE(verdict_of(seen, "reach").starts_with("bad")) << verdict_of(seen, "reach");
}

TEST(quorum_doctor, one_server_under_two_names_and_too_few_of_them_are_seen) {
  redis_nodes nodes(1);
  const auto port = std::to_string(nodes[0].port());
  const auto seen = client("redlock://127.0.0.1:" + port + ",localhost:" + port).examine();
  EXPECT_TRUE(verdict_of(seen, "same server").starts_with("bad"));
  EXPECT_TRUE(verdict_of(seen, "masters").starts_with("bad"));
}

TEST(quorum_doctor, a_replica_in_the_set_is_seen_and_has_no_vote) {
  redis_nodes nodes(2);
  test_support::redis_options how;
  how.replica_of = nodes[0].port();
  test_support::redis_server replica(how);
  const client locks(nodes.url() + ",127.0.0.1:" + std::to_string(replica.port()));
  EXPECT_TRUE(verdict_of(locks.examine(), "replica").starts_with("bad"));
  EXPECT_TRUE(locks.acquire("orders").release()) << "the two masters are a majority of three";
}

}  // namespace
}  // namespace interlock

#endif
