// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/quorum/onlooking.hpp"
#include "backends/quorum/roster.hpp"

#include <gtest/gtest.h>

namespace interlock::quorum_store {
namespace {

using namespace std::chrono_literals;
using core::node_set;

constexpr instant t0{1'000s};

node_memory marked(const std::string& run) { return {.run_id = run, .mark = run, .up_for = 1h}; }
node_memory blank(const std::string& run, std::chrono::seconds up_for = 0s) {
  return {.run_id = run, .up_for = up_for};
}

TEST(quorum_roster, a_new_deployment_may_vote_at_once_and_is_marked) {
  roster all(3, 30s);
  for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(all.heard(i, blank("run" + std::to_string(i)), t0).empty());
  EXPECT_EQ(all.shut_out(t0, 1s), node_set::first(3)) << "nobody has judged yet";
  EXPECT_EQ(all.settle(t0), node_set::first(3));
  EXPECT_TRUE(all.shut_out(t0, 1s).empty());
}

TEST(quorum_roster, a_node_that_remembers_nothing_among_others_that_do_is_shut_out_for_one_lease) {
  roster all(3, 30s);
  all.heard(0, marked("a"), t0);
  all.heard(1, marked("b"), t0);
  all.heard(2, blank("c", 4s), t0);
  EXPECT_EQ(all.contested(), node_set::one(2));
  EXPECT_TRUE(all.settle(t0).empty());
  EXPECT_EQ(all.shut_out(t0, 1s), node_set::one(2));
  EXPECT_EQ(all.due(), t0 + 26s);
  EXPECT_EQ(all.timer(t0 + 26s), node_set::one(2)) << "now it is marked";
  EXPECT_TRUE(all.shut_out(t0 + 26s, 1s).empty());
}

TEST(quorum_roster, for_a_longer_lease_than_usual_it_is_shut_out_longer) {
  roster all(2, 10s);
  all.heard(0, marked("a"), t0);
  all.heard(1, blank("b"), t0);
  all.settle(t0);
  EXPECT_EQ(all.shut_out(t0 + 20s, 60s), node_set::one(1));
  EXPECT_TRUE(all.shut_out(t0 + 20s, 10s).empty());
}

TEST(quorum_roster, one_that_was_restarted_long_ago_has_forgotten_nothing_that_matters) {
  roster all(2, 30s);
  all.heard(0, marked("a"), t0);
  all.heard(1, blank("b", 31s), t0);
  EXPECT_EQ(all.settle(t0), node_set::one(1));
  EXPECT_TRUE(all.shut_out(t0, 1s).empty());
}

TEST(quorum_roster, a_restart_under_our_eyes_is_noticed_by_the_run) {
  roster all(2, 30s);
  all.heard(0, marked("a"), t0);
  all.heard(1, marked("b"), t0);
  all.settle(t0);
  EXPECT_TRUE(all.heard(1, marked("b"), t0 + 1s).empty()) << "only the connection broke";
  EXPECT_TRUE(all.shut_out(t0 + 1s, 1s).empty());
  EXPECT_TRUE(all.heard(1, blank("c"), t0 + 2s).empty());
  EXPECT_EQ(all.shut_out(t0 + 2s, 1s), node_set::one(1));
}

TEST(quorum_roster, a_restart_with_its_data_counts_only_if_every_write_was_synced) {
  for (const bool synced : {false, true}) {
    roster all(2, 30s);
    all.heard(0, marked("a"), t0);
    all.heard(1, marked("b"), t0);
    all.settle(t0);
    all.heard(1, {.run_id = "c", .mark = "b", .synced = synced}, t0);
    EXPECT_EQ(all.shut_out(t0, 1s).empty(), synced);
  }
}

TEST(quorum_roster, one_that_ran_from_the_start_and_answered_late_is_no_restart) {
  roster all(3, 30s);
  all.heard(0, blank("a", 100s), t0);
  all.heard(1, blank("b", 100s), t0);
  EXPECT_EQ(all.settle(t0), node_set::first(2));
  EXPECT_EQ(all.heard(2, blank("c", 100s), t0 + 5s), node_set::one(2));
  EXPECT_TRUE(all.shut_out(t0 + 5s, 1s).empty());
}

TEST(quorum_roster, one_that_began_after_the_others_were_in_use_is_shut_out) {
  roster all(3, 30s);
  all.heard(0, blank("a", 100s), t0);
  all.heard(1, blank("b", 100s), t0);
  all.settle(t0);
  EXPECT_TRUE(all.heard(2, blank("c", 1s), t0 + 5s).empty());
  EXPECT_EQ(all.shut_out(t0 + 5s, 1s), node_set::one(2));
}

// ---- what nodes say about who holds

claim_id id(unsigned char which) {
  std::array<std::byte, 16> bytes{};
  bytes[0] = std::byte{which};
  return claim_id(bytes);
}

survey_page page(const std::string& name, std::vector<claim_info> holders, std::vector<claim_info> waiters = {}) {
  survey_page out;
  out.locks.push_back({.name = name, .holders = std::move(holders), .waiters = std::move(waiters)});
  return out;
}

TEST(quorum_survey, a_holder_is_who_a_majority_says_is_one) {
  const claim_info mine{.id = id(1), .lease_left = 5s}, minority{.id = id(2), .lease_left = 9s};
  const auto seen = merge({page("x", {mine}), page("x", {mine}), page("x", {mine}), page("x", {minority}, {mine})},
                          core::quorum_rules{}, 100);
  ASSERT_EQ(seen.locks.size(), 1U);
  ASSERT_EQ(seen.locks[0].holders.size(), 1U);
  EXPECT_EQ(seen.locks[0].holders[0].id, id(1));
  EXPECT_TRUE(seen.locks[0].waiters.empty()) << "it is a holder: what it waits for on another node is its own affair";
}

TEST(quorum_survey, leftovers_of_a_minority_are_not_shown) {
  const claim_info one{.id = id(1)};
  EXPECT_TRUE(merge({page("x", {one}), page("x", {one}), {}, {}, {}}, core::quorum_rules{}, 100).locks.empty());
}

TEST(quorum_survey, the_token_is_the_one_that_a_majority_has) {
  const auto with = [](std::uint64_t token) { return claim_info{.id = id(1), .token = fencing_token{token}}; };
  const auto seen = merge(
      {page("x", {with(7)}), page("x", {with(9)}), page("x", {with(7)}), page("x", {with(3)}), page("x", {with(7)})},
      core::quorum_rules{}, 100);
  EXPECT_EQ(seen.locks.at(0).holders.at(0).token, fencing_token{7});
}

TEST(quorum_survey, behind_the_end_of_the_shortest_page_nothing_is_known) {
  const claim_info one{.id = id(1)};
  const auto both = [&](bool more) {
    survey_page out;
    out.locks.push_back({.name = "a", .holders = {one}});
    if (!more) out.locks.push_back({.name = "b", .holders = {one}});
    out.more = more;
    return out;
  };
  const auto seen = merge({both(false), both(false), both(true)}, core::quorum_rules{.nodes = 3, .needed = 2}, 100);
  ASSERT_EQ(seen.locks.size(), 1U);
  EXPECT_EQ(seen.locks[0].name, "a");
  EXPECT_TRUE(seen.more);
}

}  // namespace
}  // namespace interlock::quorum_store

#endif
