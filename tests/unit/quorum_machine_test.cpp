// SPDX-License-Identifier: MIT
#include "core/quorum_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace interlock::core {
namespace {

using namespace std::chrono_literals;
using vote = node_vote::kind;
using say = quorum_machine::verdict::kind;
using phase = quorum_machine::phase;

constexpr instant t0{1'000s};
constexpr quorum_rules five{};
constexpr quorum_rules three{.nodes = 3, .needed = 2};
constexpr quorum_rules bare{.tokens = false};
constexpr quorum_rules both{.nodes = 2, .needed = 2, .in_order = true, .tokens = false};

node_set nodes(std::initializer_list<unsigned> which) {
  node_set out;
  for (const auto one : which) out |= node_set::one(one);
  return out;
}

node_vote yes(std::uint64_t token = 0) { return {.is = vote::yes, .token = token, .tokens = token == 0 ? 0U : 1U}; }
node_vote is(vote kind) { return {.is = kind}; }

/// A machine and a clock moved by hand.
struct bench {
  explicit bench(const quorum_rules& rules) : m(rules, rules.needed) {}
  auto ask(entry how = entry::queue, milliseconds lease = 30s) { return m.ask(now, how, lease); }
  auto cast(unsigned node, const node_vote& what) { return m.voted(node, m.round(), now, what); }
  quorum_machine m;
  instant now = t0;
};

// ---- rules

TEST(quorum_rules, a_lock_needs_a_majority_and_a_semaphore_so_many_that_one_permit_too_many_finds_no_room) {
  EXPECT_EQ(five.needed_for(lock_capacity), 3U);
  EXPECT_EQ(five.needed_for(1), 3U);
  for (unsigned n = 1; n <= most_nodes; ++n) {
    const quorum_rules rules{.nodes = n, .needed = n / 2 + 1};
    for (std::uint32_t permits = 1; permits < 50; ++permits) {
      const auto needed = rules.needed_for(permits);
      EXPECT_LE(needed, n);
      EXPECT_GT(needed * (permits + 1), n * permits) << n << " nodes, " << permits << " permits";
    }
  }
}

TEST(quorum_rules, validity_is_the_lease_less_drift_and_counts_from_the_first_send) {
  EXPECT_EQ(five.valid_until(t0, 10s), t0 + 10s - 100ms - 2ms);
  const quorum_rules coarse{.drift_percent = 5, .drift_extra = 10ms};
  EXPECT_EQ(coarse.valid_until(t0, 10s), t0 + 10s - 500ms - 10ms);
}

TEST(quorum_rules, patience_is_a_tenth_of_the_lease_within_bounds_or_as_told) {
  EXPECT_EQ(five.patience_for(100ms), 50ms);
  EXPECT_EQ(five.patience_for(5s), 500ms);
  EXPECT_EQ(five.patience_for(1h), 1s);
  EXPECT_EQ((quorum_rules{.patience = 70ms}.patience_for(1h)), 70ms);
}

// ---- one round

TEST(quorum_machine, all_nodes_are_asked_at_once_and_the_third_yes_of_five_decides) {
  bench b(bare);
  EXPECT_EQ(b.ask().enter, node_set::first(5));
  EXPECT_FALSE(b.cast(4, yes()).say);
  EXPECT_FALSE(b.cast(1, yes()).say);
  const auto won = b.cast(3, yes());
  ASSERT_TRUE(won.say);
  EXPECT_EQ(won.say->is, say::held);
  EXPECT_TRUE(won.leave.empty());
  EXPECT_FALSE(b.cast(0, yes()).say) << "it was said already";
  EXPECT_TRUE(b.cast(2, is(vote::silent)).leave.empty());
  EXPECT_EQ(b.m.at(), phase::held);
}

TEST(quorum_machine, an_answer_whose_validity_is_over_is_undone_and_never_returned) {
  bench b(bare);
  static_cast<void>(b.ask(entry::queue, 100ms));
  static_cast<void>(b.cast(0, yes()));
  static_cast<void>(b.cast(1, yes()));
  b.now += 97ms;  // 100 - 1 - 2
  const auto late = b.cast(2, yes());
  ASSERT_TRUE(late.say);
  EXPECT_EQ(late.say->is, say::late);
  EXPECT_EQ(late.leave, node_set::first(5)) << "those who have not answered too";
}

TEST(quorum_machine, a_validity_that_ends_in_the_next_instant_is_still_one) {
  bench b(bare);
  static_cast<void>(b.ask(entry::queue, 100ms));
  static_cast<void>(b.cast(0, yes()));
  static_cast<void>(b.cast(1, yes()));
  b.now += 96ms;
  EXPECT_EQ(b.cast(2, yes()).say->is, say::held);
}

TEST(quorum_machine, a_lost_attempt_leaves_everywhere_for_good_where_nobody_answered) {
  bench b(bare);
  static_cast<void>(b.ask(entry::attempt));
  static_cast<void>(b.cast(0, yes()));
  static_cast<void>(b.cast(1, is(vote::busy)));
  static_cast<void>(b.cast(2, is(vote::busy)));
  const auto lost = b.cast(3, is(vote::busy));
  ASSERT_TRUE(lost.say);
  EXPECT_EQ(lost.say->is, say::busy);
  EXPECT_EQ(lost.leave, nodes({0}));
  EXPECT_EQ(lost.leave_final, nodes({4})) << "it never answered: what it was asked may still happen";
}

TEST(quorum_machine, whoever_waits_gives_its_votes_back_and_keeps_its_places) {
  bench b(bare);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, yes()));
  static_cast<void>(b.cast(1, yes()));
  static_cast<void>(b.cast(2, is(vote::place)));
  static_cast<void>(b.cast(3, is(vote::place)));
  const auto lost = b.cast(4, is(vote::place));
  ASSERT_TRUE(lost.say);
  EXPECT_EQ(lost.say->is, say::waiting);
  EXPECT_EQ(lost.leave, nodes({0, 1}));
  EXPECT_TRUE(lost.leave_final.empty()) << "the same claim asks again";
}

TEST(quorum_machine, it_is_busy_only_if_enough_nodes_have_answered_and_unavailable_otherwise) {
  bench b(bare);
  static_cast<void>(b.ask(entry::attempt));
  for (const unsigned dead : {0U, 1U, 2U}) static_cast<void>(b.cast(dead, is(vote::absent)));
  // Three could not be asked: whatever the others say.
  EXPECT_EQ(b.m.at(), phase::idle);

  bench c(bare);
  static_cast<void>(c.ask(entry::attempt));
  static_cast<void>(c.cast(0, is(vote::absent)));
  static_cast<void>(c.cast(1, is(vote::absent)));
  EXPECT_FALSE(c.cast(2, is(vote::busy)).say) << "lost, but is it busy or out of order? Two more will tell";
  EXPECT_FALSE(c.cast(3, yes()).say);
  const auto lost = c.cast(4, yes());
  ASSERT_TRUE(lost.say);
  EXPECT_EQ(lost.say->is, say::busy);
  EXPECT_EQ(lost.leave, nodes({3, 4}));
}

TEST(quorum_machine, nodes_that_could_not_be_asked_are_unavailable_and_silent_ones_indeterminate) {
  bench b(bare);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, yes()));
  static_cast<void>(b.cast(1, yes()));
  static_cast<void>(b.cast(2, is(vote::absent)));
  static_cast<void>(b.cast(3, is(vote::absent)));
  const auto lost = b.cast(4, is(vote::absent));
  EXPECT_EQ(lost.say->is, say::unavailable);
  EXPECT_EQ(lost.leave, nodes({0, 1}));

  bench c(bare);
  static_cast<void>(c.ask());
  for (const unsigned i : {0U, 1U, 2U}) static_cast<void>(c.cast(i, is(vote::absent)));
  bench d(bare);
  static_cast<void>(d.ask());
  static_cast<void>(d.cast(0, yes()));
  static_cast<void>(d.cast(1, is(vote::silent)));
  static_cast<void>(d.cast(2, is(vote::silent)));
  const auto unknown = d.cast(3, is(vote::silent));
  ASSERT_TRUE(unknown.say);
  EXPECT_EQ(unknown.say->is, say::indeterminate);
}

TEST(quorum_machine, a_node_that_does_not_answer_in_time_has_not_voted) {
  bench b(bare);
  static_cast<void>(b.ask(entry::attempt, 1s));
  static_cast<void>(b.cast(0, yes()));
  static_cast<void>(b.cast(1, is(vote::busy)));
  static_cast<void>(b.cast(2, is(vote::busy)));
  EXPECT_EQ(b.m.due(), t0 + 100ms);
  b.now += 99ms;
  EXPECT_FALSE(b.m.timer(b.now).say);
  b.now += 1ms;
  const auto lost = b.m.timer(b.now);
  ASSERT_TRUE(lost.say);
  EXPECT_EQ(lost.say->is, say::busy);
  EXPECT_EQ(lost.leave_final, nodes({3, 4}));
}

TEST(quorum_machine, what_one_node_refuses_or_evicted_is_said_when_it_cannot_be_won_any_more) {
  bench b(bare);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(2, is(vote::refused)));
  static_cast<void>(b.cast(1, is(vote::refused)));
  const auto refused = b.cast(0, is(vote::refused));
  EXPECT_EQ(refused.say->is, say::refused);
  EXPECT_EQ(refused.say->node, 0U);

  bench c(bare);
  static_cast<void>(c.ask());
  static_cast<void>(c.cast(0, is(vote::evicted)));
  static_cast<void>(c.cast(1, is(vote::place)));
  EXPECT_EQ(c.cast(2, is(vote::place)).say->is, say::evicted);

  bench d(bare);
  static_cast<void>(d.ask());
  static_cast<void>(d.cast(0, is(vote::gone)));
  static_cast<void>(d.cast(1, is(vote::gone)));
  EXPECT_EQ(d.cast(2, is(vote::gone)).say->is, say::gone);
}

TEST(quorum_machine, the_vote_of_a_node_that_was_restarted_does_not_count) {
  bench b(bare);
  b.m.shut_out(nodes({2}));
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(2, yes()));
  static_cast<void>(b.cast(3, yes()));
  EXPECT_FALSE(b.cast(4, yes()).say) << "two that count";
  static_cast<void>(b.cast(0, is(vote::place)));
  const auto lost = b.cast(1, is(vote::place));
  ASSERT_TRUE(lost.say);
  EXPECT_EQ(lost.say->is, say::waiting);
  EXPECT_EQ(lost.leave, nodes({2, 3, 4})) << "it is given back there too";
}

TEST(quorum_machine, answers_of_an_earlier_round_count_for_nothing) {
  bench b(bare);
  static_cast<void>(b.ask());
  const auto first = b.m.round();
  static_cast<void>(b.ask());
  for (unsigned i = 0; i < 5; ++i) EXPECT_FALSE(b.m.voted(i, first, b.now, yes()).say);
  EXPECT_EQ(b.m.at(), phase::asking);
}

// Every order in which three nodes can give every combination of answers.
TEST(quorum_machine, it_is_held_exactly_if_enough_say_yes_and_otherwise_nothing_is_left_behind) {
  constexpr std::array kinds{vote::yes,     vote::place,   vote::busy,   vote::gone,
                             vote::evicted, vote::refused, vote::absent, vote::silent};
  unsigned histories = 0;
  for (const auto a : kinds)
    for (const auto b : kinds)
      for (const auto c : kinds) {
        std::array<unsigned, 3> order{0, 1, 2};
        do {
          for (const auto how : {entry::attempt, entry::queue}) {
            const std::array said{a, b, c};
            quorum_machine m(quorum_rules{.nodes = 3, .needed = 2, .tokens = false}, 2);
            static_cast<void>(m.ask(t0, how, 30s));
            unsigned yeses = 0, answers = 0;
            node_set left, left_for_good, maybe;
            std::optional<say> verdict;
            for (const auto i : order) {
              const auto next = m.voted(i, m.round(), t0, is(said[i]));
              yeses += !verdict && said[i] == vote::yes ? 1 : 0;
              if (next.say) {
                ++answers;
                verdict = next.say->is;
              }
              left |= next.leave;
              left_for_good |= next.leave_final;
              if (said[i] == vote::yes || said[i] == vote::silent) maybe |= node_set::one(i);
            }
            ++histories;
            ASSERT_EQ(answers, 1U);
            ASSERT_EQ(*verdict == say::held, yeses >= 2);
            if (*verdict == say::held) {
              ASSERT_TRUE((left | left_for_good).empty());
            } else {
              ASSERT_TRUE((maybe - (left | left_for_good)).empty()) << "a vote was left behind";
            }
          }
        } while (std::next_permutation(order.begin(), order.end()));
      }
  EXPECT_EQ(histories, 8U * 8 * 8 * 6 * 2);
}

// ---- waiting

TEST(quorum_machine, pauses_grow_and_are_random_so_that_split_votes_resolve) {
  const auto pause = [](unsigned losses, double jitter) {
    quorum_machine m(bare, 3);
    milliseconds last{};
    for (unsigned i = 0; i < losses; ++i) {
      static_cast<void>(m.ask(t0, entry::queue, 30s));
      static_cast<void>(m.voted(0, m.round(), t0, is(vote::place), jitter));
      static_cast<void>(m.voted(1, m.round(), t0, is(vote::place), jitter));
      last = m.voted(2, m.round(), t0, is(vote::place), jitter).say->look_again_in;
    }
    return last;
  };
  EXPECT_EQ(pause(1, 0.5), 2ms);
  EXPECT_EQ(pause(2, 0.5), 4ms);
  EXPECT_EQ(pause(5, 0.5), 32ms);
  EXPECT_EQ(pause(20, 0.5), 250ms) << "not for ever";
  EXPECT_EQ(pause(20, 0.0), 125ms);
  EXPECT_LE(pause(20, 0.999), 375ms);
}

TEST(quorum_machine, it_does_not_pause_longer_than_the_leases_in_its_way) {
  quorum_machine m(bare, 3);
  for (int round = 0; round < 12; ++round) {
    static_cast<void>(m.ask(t0, entry::queue, 30s));
    milliseconds pause{};
    for (unsigned i = 0; i < 3; ++i) {
      const auto next = m.voted(i, m.round(), t0, {.is = vote::place, .left = milliseconds(10 + i)});
      if (next.say) pause = next.say->look_again_in;
    }
    EXPECT_LE(pause, 13ms);
  }
}

TEST(quorum_machine, hints_count_when_enough_nodes_may_be_free) {
  bench b(bare);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, yes()));
  for (unsigned i = 1; i < 5; ++i) static_cast<void>(b.cast(i, is(vote::place)));
  ASSERT_EQ(b.m.at(), phase::waiting);
  EXPECT_FALSE(b.m.hint(1));
  EXPECT_FALSE(b.m.hint(1)) << "the same node again";
  EXPECT_TRUE(b.m.hint(3)) << "with node 0, which was free, that makes three";
  EXPECT_FALSE(b.m.hint(1)) << "and then anew";
}

TEST(quorum_machine, those_who_are_told_together_do_not_ask_together) {
  bench b(bare);
  static_cast<void>(b.ask());
  b.now += 4ms;
  for (unsigned i = 0; i < 3; ++i) static_cast<void>(b.cast(i, {.is = vote::place, .ahead = 2}));
  EXPECT_EQ(b.m.stagger(0.0), 0ms);
  EXPECT_EQ(b.m.stagger(0.5), 4ms);
}

TEST(quorum_machine, with_all_needed_who_waits_asks_in_a_fixed_order) {
  bench b(both);
  EXPECT_EQ(b.ask().enter, node_set::first(2)) << "the first time both at once";
  static_cast<void>(b.cast(1, yes()));
  auto next = b.cast(0, is(vote::place));
  EXPECT_EQ(next.say->is, say::waiting);
  EXPECT_EQ(next.leave, nodes({1}));
  EXPECT_EQ(b.ask().enter, nodes({0}));
  next = b.cast(0, yes());
  EXPECT_EQ(next.enter, nodes({1}));
  EXPECT_EQ(b.cast(1, yes()).say->is, say::held);
}

TEST(quorum_machine, in_order_the_first_no_ends_the_round_and_only_the_first_place_is_kept) {
  bench b(both);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, is(vote::place)));
  const auto lost = b.cast(1, is(vote::place));
  EXPECT_EQ(lost.leave, nodes({1}));
  static_cast<void>(b.ask());
  EXPECT_EQ(b.cast(0, is(vote::place)).say->is, say::waiting);
  EXPECT_TRUE(b.m.hint(0));
  EXPECT_FALSE(b.m.hint(1));
  static_cast<void>(b.ask());
  EXPECT_EQ(b.cast(0, is(vote::absent)).say->is, say::unavailable);
}

// ---- tokens

TEST(quorum_machine, the_largest_token_is_written_back_to_a_majority_before_it_is_said) {
  bench b(five);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, yes(10)));
  static_cast<void>(b.cast(1, yes(700)));
  auto next = b.cast(2, yes(30));
  EXPECT_FALSE(next.say);
  EXPECT_EQ(next.raise, nodes({0, 2, 3, 4}));
  EXPECT_EQ(next.raise_to, 700U);
  EXPECT_FALSE(b.m.raised(0, b.m.round(), b.now, true).say);
  next = b.m.raised(2, b.m.round(), b.now, true);
  ASSERT_TRUE(next.say);
  EXPECT_EQ(next.say->is, say::held);
  EXPECT_EQ(next.say->token, 700U);
}

TEST(quorum_machine, who_has_not_answered_yet_is_told_the_token_behind_the_question) {
  bench b(five);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, yes(1)));
  static_cast<void>(b.cast(1, yes(2)));
  const auto won = b.cast(2, yes(3));
  EXPECT_EQ(won.raise, nodes({0, 1, 3, 4}));
  EXPECT_EQ(won.behind, nodes({3, 4}));
  EXPECT_TRUE(b.cast(3, is(vote::busy)).raise.empty());
  EXPECT_FALSE(b.m.raised(0, b.m.round(), b.now, false).say);
  EXPECT_FALSE(b.m.raised(1, b.m.round(), b.now, true).say);
  EXPECT_EQ(b.m.raised(3, b.m.round(), b.now, true).say->is, say::held);
  EXPECT_TRUE(b.cast(4, yes(9)).raise.empty()) << "what it was told came behind its own token";
  const auto again = b.m.raised(4, b.m.round(), b.now, false);
  EXPECT_EQ(again.raise, nodes({4})) << "it could not be told";
  EXPECT_TRUE(again.behind.empty());
  EXPECT_EQ(again.instead_of, 9U);
  EXPECT_TRUE(b.m.raised(4, b.m.round(), b.now, false).raise.empty()) << "nor can this be: not for ever";
}

TEST(quorum_machine, a_grant_whose_token_reaches_no_majority_fails_and_is_undone) {
  bench b(five);
  static_cast<void>(b.ask());
  for (unsigned i = 0; i < 3; ++i) static_cast<void>(b.cast(i, yes(i + 1)));
  static_cast<void>(b.cast(3, is(vote::absent)));
  static_cast<void>(b.cast(4, is(vote::absent)));
  EXPECT_FALSE(b.m.raised(3, b.m.round(), b.now, false).say);
  EXPECT_FALSE(b.m.raised(4, b.m.round(), b.now, false).say);
  const auto failed = b.m.raised(0, b.m.round(), b.now, false);
  ASSERT_TRUE(failed.say);
  EXPECT_EQ(failed.say->is, say::unavailable);
  EXPECT_EQ(failed.leave, nodes({0, 1, 2}));
}

TEST(quorum_machine, a_larger_token_made_too_late_is_taken_back) {
  bench b(five);
  static_cast<void>(b.ask());
  for (unsigned i = 0; i < 3; ++i) static_cast<void>(b.cast(i, yes(7)));
  ASSERT_EQ(b.m.at(), phase::held) << "all three have it: nothing to write back";
  EXPECT_TRUE(b.cast(3, yes(6)).raise.empty());
  const auto late = b.cast(4, yes(9));
  EXPECT_EQ(late.raise, nodes({4}));
  EXPECT_EQ(late.token, 7U);
  EXPECT_EQ(late.instead_of, 9U);
}

// Nodes whose clocks are minutes apart; each grant finds another majority. The plain maximum would go back and forth.
TEST(quorum_machine, tokens_rise_whatever_majority_answers_and_however_far_apart_the_clocks_are) {
  std::mt19937 dice(7);
  std::array<std::uint64_t, 5> registers{}, clock{0, 600'000'000, 60'000'000, 1, 300'000'000};
  std::uint64_t last = 0, plain_maximum_went_back = 0, last_maximum = 0;
  for (int grant = 0; grant < 10'000; ++grant) {
    std::array<unsigned, 5> order{0, 1, 2, 3, 4};
    std::shuffle(order.begin(), order.end(), dice);
    quorum_machine m(five, 3);
    static_cast<void>(m.ask(t0, entry::attempt, 30s));
    std::uint64_t token = 0, maximum = 0;
    quorum_machine::step next;
    for (unsigned i = 0; i < 3; ++i) {
      const auto node = order[i];
      clock[node] += 10 + dice() % 100;
      maximum = std::max(maximum, clock[node]);
      registers[node] = std::max(registers[node] + 1, clock[node]);
      next = m.voted(node, m.round(), t0, yes(registers[node]));
    }
    plain_maximum_went_back += maximum < last_maximum ? 1 : 0;
    last_maximum = maximum;
    const auto raise = next.raise;
    for (unsigned node = 0; node < 5 && !next.say; ++node) {
      if (!raise.has(node)) continue;
      const auto to = raise.empty() ? 0 : m.token();
      registers[node] = std::max(registers[node], to);
      next = m.raised(node, m.round(), t0, true);
    }
    ASSERT_TRUE(next.say);
    token = next.say->token;
    ASSERT_GT(token, last) << "grant " << grant;
    last = token;
  }
  EXPECT_GT(plain_maximum_went_back, 0U) << "the clocks were not far enough apart to show anything";
}

TEST(quorum_machine, a_renewal_that_wants_a_token_and_is_not_won_leaves_the_claim_as_it_was) {
  bench b(five);
  static_cast<void>(b.ask());
  for (unsigned i = 0; i < 3; ++i) static_cast<void>(b.cast(i, yes(7)));
  static_cast<void>(b.m.renew(b.now, 30s));
  EXPECT_TRUE(b.m.renewing());
  for (unsigned i = 0; i < 2; ++i) static_cast<void>(b.cast(i, is(vote::silent)));
  const auto failed = b.cast(2, is(vote::silent));
  ASSERT_TRUE(failed.say);
  EXPECT_TRUE((failed.leave | failed.leave_final).empty());
  EXPECT_EQ(b.m.at(), phase::held);
  static_cast<void>(b.m.renew(b.now, 30s));
  for (unsigned i = 0; i < 2; ++i) static_cast<void>(b.cast(i, yes(9)));
  EXPECT_EQ(b.cast(2, yes(9)).say->token, 9U);
}

// ---- leaving

struct held_by_five : bench {
  held_by_five() : bench(bare) {
    static_cast<void>(ask());
    for (unsigned i = 0; i < 5; ++i) static_cast<void>(cast(i, yes()));
  }
  auto left(unsigned node, std::optional<departure> how = departure::released) {
    return m.left(node, m.round(), now, how);
  }
};

TEST(quorum_machine, a_release_is_answered_by_the_third_node_and_goes_to_all) {
  held_by_five b;
  const auto next = b.m.leave(b.now, finality::answered, 30s);
  EXPECT_EQ(next.leave, node_set::first(5));
  EXPECT_FALSE(b.left(0).left);
  EXPECT_FALSE(b.left(1).left);
  EXPECT_EQ(b.left(2).left, departure::released);
  EXPECT_FALSE(b.m.done());
  EXPECT_FALSE(b.left(3).left);
  static_cast<void>(b.left(4));
  EXPECT_TRUE(b.m.done());
}

TEST(quorum_machine, a_node_that_did_not_confirm_is_asked_again_until_the_lease_is_over) {
  held_by_five b;
  static_cast<void>(b.m.leave(b.now, finality::answered, 30s));
  for (unsigned i = 0; i < 4; ++i) static_cast<void>(b.left(i));
  static_cast<void>(b.left(4, std::nullopt));
  unsigned asked = 0;
  while (!b.m.done()) {
    ASSERT_NE(b.m.due(), instant::max());
    b.now = std::max(b.now + 1ms, b.m.due());
    const auto next = b.m.timer(b.now);
    if (!next.leave.empty()) {
      EXPECT_EQ(next.leave, nodes({4}));
      ++asked;
      static_cast<void>(b.left(4, std::nullopt));
    }
  }
  EXPECT_GE(asked, 20U);
  EXPECT_LE(b.now, t0 + 31s);
  EXPECT_GE(b.now, t0 + 29s);
}

TEST(quorum_machine, a_claim_that_too_few_nodes_still_had_was_gone) {
  held_by_five b;
  static_cast<void>(b.m.leave(b.now, finality::answered, 30s));
  static_cast<void>(b.left(0));
  static_cast<void>(b.left(1));
  for (unsigned i = 2; i < 4; ++i) EXPECT_FALSE(b.left(i, departure::gone).left);
  EXPECT_EQ(b.left(4, departure::gone).left, departure::gone);
}

TEST(quorum_machine, a_release_that_too_few_confirm_in_time_is_unconfirmed_and_can_be_asked_for_again) {
  held_by_five b;
  static_cast<void>(b.m.leave(b.now, finality::answered, 30s));
  static_cast<void>(b.left(0));
  static_cast<void>(b.left(1));
  b.now += 1s;
  EXPECT_TRUE(b.m.timer(b.now).unconfirmed);
  const auto again = b.m.leave(b.now, finality::answered, 30s);
  EXPECT_TRUE(again.leave.empty()) << "they are still being asked";
  EXPECT_EQ(b.left(2).left, departure::released) << "what was confirmed before counts";
}

/// Granted by three; the other two were asked and have not answered when it is released.
struct released_early : bench {
  released_early() : bench(bare) {
    static_cast<void>(ask());
    round = m.round();
    for (unsigned i = 0; i < 3; ++i) static_cast<void>(cast(i, yes()));
    next = m.leave(now, finality::answered, 30s);
  }
  auto left(unsigned node, std::optional<departure> how) { return m.left(node, m.round(), now, how); }
  auto late(unsigned node, vote what) { return m.voted(node, round, now, is(what)); }
  unsigned round = 0;
  quorum_machine::step next;
};

TEST(quorum_machine, an_enter_that_is_under_way_is_ended_by_the_leave_behind_it) {
  released_early b;
  EXPECT_EQ(b.next.leave, node_set::first(5));
  EXPECT_TRUE(b.next.leave_final.empty()) << "nodes do what they are told in order: a tombstone is not needed";
  for (unsigned i = 0; i < 3; ++i) static_cast<void>(b.left(i, departure::released));
  for (unsigned i = 3; i < 5; ++i) {
    const auto late = b.late(i, vote::yes);
    EXPECT_TRUE((late.leave | late.leave_final).empty()) << "its leave is under way";
    EXPECT_FALSE(b.m.done());
    static_cast<void>(b.left(i, departure::released));
  }
  EXPECT_TRUE(b.m.done());
}

TEST(quorum_machine, an_enter_that_was_lost_before_the_leave_is_left_for_good) {
  released_early b;
  static_cast<void>(b.late(4, vote::silent));
  static_cast<void>(b.left(4, std::nullopt));
  b.now += 60ms;
  EXPECT_EQ(b.m.timer(b.now).leave_final, nodes({4}));

  released_early c;  // told in the other order
  static_cast<void>(c.left(4, std::nullopt));
  static_cast<void>(c.late(4, vote::silent));
  c.now += 60ms;
  EXPECT_EQ(c.m.timer(c.now).leave_final, nodes({4}));
}

TEST(quorum_machine, an_enter_that_is_answered_behind_its_leave_is_cleared_away_once_more) {
  for (const auto what : {vote::yes, vote::place, vote::silent}) {
    released_early b;
    for (unsigned i = 0; i < 5; ++i) static_cast<void>(b.left(i, i < 3 ? departure::released : departure::gone));
    static_cast<void>(b.late(3, vote::busy));
    EXPECT_FALSE(b.m.done()) << "node 4 may still take it";
    const auto next = b.late(4, what);
    EXPECT_EQ(next.leave | next.leave_final, nodes({4}));
    EXPECT_EQ(next.leave_final.empty(), what != vote::silent);
    EXPECT_FALSE(b.m.done());
    static_cast<void>(b.left(4, departure::released));
    EXPECT_TRUE(b.m.done());
  }
}

TEST(quorum_machine, a_claim_nobody_knows_is_left_on_every_node) {
  bench b(bare);
  EXPECT_EQ(b.m.leave(b.now, finality::answered, 30s).leave, node_set::first(5));
  bench c(bare);
  EXPECT_EQ(c.m.leave(c.now, finality::final, 30s).leave_final, node_set::first(5));
}

TEST(quorum_machine, a_new_round_stops_what_cleared_away_after_the_last) {
  bench b(bare);
  static_cast<void>(b.ask());
  static_cast<void>(b.cast(0, yes()));
  for (unsigned i = 1; i < 4; ++i) static_cast<void>(b.cast(i, is(vote::place)));
  const auto round = b.m.round();
  static_cast<void>(b.ask());
  EXPECT_TRUE(b.m.left(0, round, b.now, std::nullopt).leave.empty());
  b.now += 60ms;
  EXPECT_TRUE(b.m.timer(b.now).leave.empty()) << "it would take back the vote that is being asked for";
}

TEST(quorum_machine, a_claim_that_a_majority_has_forgotten_is_cleared_away_where_it_was) {
  bench b(bare);
  static_cast<void>(b.ask());
  for (unsigned i = 0; i < 4; ++i) static_cast<void>(b.cast(i, yes()));
  static_cast<void>(b.cast(4, is(vote::silent)));
  const auto next = b.m.abandon(b.now);
  EXPECT_EQ(next.leave, node_set::first(4));
  EXPECT_EQ(next.leave_final, nodes({4}));
}

// ---- renewals

TEST(quorum_tally, a_renewal_needs_as_many_as_the_grant) {
  using verdict = quorum_tally::verdict;
  quorum_tally held(5, 3);
  EXPECT_EQ(held.cast(0, vote::yes), verdict::open);
  EXPECT_EQ(held.cast(1, vote::gone), verdict::open);
  EXPECT_EQ(held.cast(2, vote::yes), verdict::open);
  EXPECT_EQ(held.cast(3, vote::yes), verdict::held);

  quorum_tally gone(5, 3);
  EXPECT_EQ(gone.cast(0, vote::yes), verdict::open);
  EXPECT_EQ(gone.cast(1, vote::gone), verdict::open);
  EXPECT_EQ(gone.cast(2, vote::gone), verdict::open);
  EXPECT_EQ(gone.cast(3, vote::gone), verdict::gone);

  quorum_tally evicted(5, 3);
  EXPECT_EQ(evicted.cast(0, vote::evicted), verdict::evicted);
}

TEST(quorum_tally, silence_is_not_loss) {
  using verdict = quorum_tally::verdict;
  quorum_tally unknown(5, 3);
  EXPECT_EQ(unknown.cast(0, vote::yes), verdict::open);
  EXPECT_EQ(unknown.cast(1, vote::yes), verdict::open);
  EXPECT_EQ(unknown.cast(2, vote::gone), verdict::open);
  EXPECT_EQ(unknown.close(), verdict::unknown) << "those who are silent may have it still";
}

// All answers of three nodes: held needs two yes; gone needs two that say so.
TEST(quorum_tally, every_combination_is_judged_by_what_was_said) {
  using verdict = quorum_tally::verdict;
  constexpr std::array kinds{vote::yes, vote::gone, vote::silent};
  for (const auto a : kinds)
    for (const auto b : kinds)
      for (const auto c : kinds) {
        quorum_tally one(three.nodes, three.needed);
        auto last = verdict::open;
        unsigned yes = 0, gone = 0;
        for (unsigned i = 0; i < 3; ++i) {
          const auto said = std::array{a, b, c}[i];
          yes += said == vote::yes ? 1 : 0;
          gone += said == vote::gone ? 1 : 0;
          if (last == verdict::open) last = one.cast(i, said);
        }
        EXPECT_EQ(last, yes >= 2 ? verdict::held : gone >= 2 ? verdict::gone : verdict::unknown);
      }
}

}  // namespace
}  // namespace interlock::core
