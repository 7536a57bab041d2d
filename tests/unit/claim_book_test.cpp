// SPDX-License-Identifier: MIT
#include "core/claim_book.hpp"
#include "support/numbered_secret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace interlock {
namespace {

using namespace std::chrono_literals;
using core::book_news;
using core::claim_book;
using kind = standing::kind;
using test_support::numbered_secret;

claim writer(std::uint32_t n) { return {.name = "x", .secret = numbered_secret(n), .lease = 10s, .wait_lease = 4s}; }
claim reader(std::uint32_t n) {
  auto one = writer(n);
  one.mode = lock_mode::shared;
  one.weight = 1;
  return one;
}
claim permits(std::uint32_t n, std::uint32_t weight, std::uint32_t capacity) {
  auto one = writer(n);
  one.weight = weight;
  one.capacity = capacity;
  return one;
}

/// A book and a clock moved by hand.
struct claim_book_rules : ::testing::Test {
  standing enter(const claim& who, entry how = entry::queue) {
    return book.enter(who, how, nullptr, now, news).value();
  }
  standing look(const claim& who) { return book.look(who, now, news); }
  departure leave(const claim& who, finality how = finality::answered) { return book.leave(who, how, now, news); }
  result<standing> convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how = entry::attempt) {
    return book.convert(who, mode, weight, how, now, news);
  }
  bool evict(const claim& who, bool force) { return book.evict(public_id(who.secret), force, now, news); }
  std::vector<claim_secret> told(book_news::kind what) {
    std::vector<claim_secret> whom;
    for (const auto& one : news)
      if (one.is == what) whom.push_back(one.whom);
    return whom;
  }

  claim_book book;
  claim_book::news news;
  instant now{100h};
};
using whom = std::vector<claim_secret>;

TEST_F(claim_book_rules, the_first_one_holds_and_the_second_waits) {
  const auto first = enter(writer(1));
  EXPECT_EQ(first.is, kind::held);
  EXPECT_EQ(first.token, 1U);
  const auto second = enter(writer(2));
  EXPECT_EQ(second.is, kind::waiting);
  EXPECT_EQ(second.ahead, 0U);
  EXPECT_EQ(second.look_again_in, 10s);
  EXPECT_EQ(enter(writer(3)).ahead, 1U);
  EXPECT_EQ(look(writer(1)).behind, 2U);
}

TEST_F(claim_book_rules, an_attempt_that_does_not_fit_leaves_nothing) {
  enter(writer(1));
  const auto refused = enter(writer(2), entry::attempt);
  EXPECT_EQ(refused.is, kind::busy);
  EXPECT_EQ(refused.look_again_in, 10s);
  EXPECT_EQ(book.describe("x", now).waiters.size(), 0U);
  EXPECT_EQ(look(writer(2)).is, kind::gone);
}

TEST_F(claim_book_rules, entering_again_is_the_same_claim) {
  const auto first = enter(writer(1));
  const auto again = enter(writer(1));
  EXPECT_EQ(again.is, kind::held);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(again.memo, first.memo);
  enter(writer(2));
  EXPECT_EQ(enter(writer(2)).ahead, 0U);
  EXPECT_EQ(book.describe("x", now).waiters.size(), 1U);
}

TEST_F(claim_book_rules, a_lease_still_stands_in_its_last_instant) {
  enter(writer(1));
  now += 10s;
  EXPECT_EQ(enter(writer(2), entry::attempt).is, kind::busy);
  now += 1ns;
  EXPECT_EQ(enter(writer(2), entry::attempt).is, kind::held);
}

TEST_F(claim_book_rules, looking_extends_and_never_shortens) {
  enter(writer(1));
  now += 9s;
  EXPECT_EQ(look(writer(1)).is, kind::held);
  now += 9s;
  EXPECT_EQ(look(writer(1)).is, kind::held);
  auto impatient = writer(1);
  impatient.lease = 1s;
  look(impatient);
  now += 9s;
  EXPECT_EQ(look(writer(1)).is, kind::held);
}

TEST_F(claim_book_rules, looking_never_brings_a_claim_back) {
  enter(writer(1));
  now += 11s;
  EXPECT_EQ(look(writer(1)).is, kind::gone);
  EXPECT_EQ(look(writer(1)).is, kind::gone);
  EXPECT_EQ(look(writer(7)).is, kind::gone);
  EXPECT_TRUE(book.idle());
}

TEST_F(claim_book_rules, a_waiter_lives_by_its_own_shorter_lease_and_a_grant_does_not_move_it) {
  enter(writer(1));
  enter(writer(2));
  now += 3s;
  leave(writer(1));
  EXPECT_EQ(told(book_news::kind::granted), whom{numbered_secret(2)});
  EXPECT_EQ(book.describe("x", now).holders.at(0).lease_left, 1s);
  now += 1001ms;
  EXPECT_EQ(look(writer(2)).is, kind::gone);
}

TEST_F(claim_book_rules, leaving_says_what_it_was) {
  enter(writer(1));
  enter(writer(2));
  EXPECT_EQ(leave(writer(2)), departure::left);
  EXPECT_EQ(leave(writer(1)), departure::released);
  EXPECT_EQ(leave(writer(1)), departure::gone);
  enter(writer(3));
  now += 11s;
  EXPECT_EQ(leave(writer(3)), departure::gone);
}

TEST_F(claim_book_rules, a_late_release_removes_nothing_of_the_next_holder) {
  enter(writer(1));
  now += 11s;
  EXPECT_EQ(enter(writer(2)).is, kind::held);
  EXPECT_EQ(leave(writer(1)), departure::gone);
  EXPECT_EQ(look(writer(2)).is, kind::held);
}

TEST_F(claim_book_rules, after_a_final_leave_a_late_enter_has_no_effect) {
  EXPECT_EQ(leave(writer(1), finality::final), departure::gone);
  EXPECT_EQ(enter(writer(1)).is, kind::gone);
  now += core::tomb_time;
  EXPECT_EQ(enter(writer(1)).is, kind::gone);
  EXPECT_EQ(enter(writer(2)).is, kind::held) << "a tombstone is in nobody's way";
  now += 1ms;
  leave(writer(2));
  EXPECT_EQ(enter(writer(1)).is, kind::held) << "a tombstone is kept for a stated time";
}

TEST_F(claim_book_rules, tokens_rise_over_release_expiry_eviction_and_removal) {
  std::uint64_t last = 0;
  std::uint32_t n = 0;
  const auto next = [&] {
    const auto token = enter(writer(++n)).token;
    EXPECT_GT(token, last);
    last = token;
  };
  next(), leave(writer(n));
  next(), now += 11s;
  next(), evict(writer(n), true);
  next(), book.discard(book.claims().back().seq, now, news);
  book.raise_token(1000);
  next();
  EXPECT_EQ(last, 1001U);
}

TEST_F(claim_book_rules, a_block_of_tokens_belongs_to_one_grant) {
  auto many = writer(1);
  many.tokens = 8;
  const auto first = enter(many);
  EXPECT_EQ(first.tokens, 8U);
  const auto more = look(many);
  EXPECT_EQ(more.token, first.token + 8);
  leave(many);
  EXPECT_EQ(enter(writer(2)).token, more.token + 8);
}

TEST_F(claim_book_rules, readers_share_and_carry_the_token_of_the_last_writer) {
  EXPECT_EQ(enter(reader(1)).token, 1U) << "never zero";
  leave(reader(1));
  const auto wrote = enter(writer(2)).token;
  leave(writer(2));
  EXPECT_EQ(enter(reader(3)).token, wrote);
  EXPECT_EQ(enter(reader(4)).is, kind::held);
  EXPECT_EQ(enter(writer(5)).is, kind::waiting);
}

TEST_F(claim_book_rules, a_reader_does_not_overtake_a_waiting_writer) {
  enter(reader(1));
  enter(writer(2));
  EXPECT_EQ(enter(reader(3), entry::attempt).is, kind::busy);
  EXPECT_EQ(enter(reader(3)).is, kind::waiting);
  leave(writer(2));
  EXPECT_EQ(told(book_news::kind::granted), whom{numbered_secret(3)}) << "a leaving writer frees the readers behind it";
}

TEST_F(claim_book_rules, the_longest_fitting_prefix_of_the_queue_is_granted) {
  enter(writer(1));
  enter(reader(2));
  enter(reader(3));
  enter(writer(4));
  enter(reader(5));
  leave(writer(1));
  EXPECT_EQ(told(book_news::kind::granted), (whom{numbered_secret(2), numbered_secret(3)}));
}

TEST_F(claim_book_rules, permits_add_up_to_the_capacity_and_not_beyond) {
  EXPECT_EQ(enter(permits(1, 2, 5)).is, kind::held);
  EXPECT_EQ(enter(permits(2, 3, 5)).is, kind::held);
  EXPECT_EQ(enter(permits(3, 1, 5), entry::attempt).is, kind::busy);
  EXPECT_EQ(enter(permits(4, 3, 5)).is, kind::waiting);
  EXPECT_EQ(enter(permits(5, 1, 5)).is, kind::waiting);
  leave(permits(1, 2, 5));
  EXPECT_EQ(look(permits(5, 1, 5)).is, kind::waiting) << "small ones do not overtake a big one";
  leave(permits(2, 3, 5));
  EXPECT_EQ(told(book_news::kind::granted), (whom{numbered_secret(4), numbered_secret(5)}));
}

TEST_F(claim_book_rules, another_capacity_is_refused_while_the_name_is_in_use) {
  enter(permits(1, 1, 5));
  auto other = book.enter(permits(2, 1, 6), entry::queue, nullptr, now, news);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(), errc::invalid_argument);
  leave(permits(1, 1, 5));
  EXPECT_EQ(enter(permits(2, 1, 6)).is, kind::held);
}

TEST_F(claim_book_rules, a_downgrade_leaves_no_gap_and_lets_readers_in) {
  enter(writer(1));
  enter(reader(2));
  enter(writer(3));
  EXPECT_EQ(convert(writer(1), lock_mode::shared, 1)->is, kind::held);
  EXPECT_EQ(told(book_news::kind::granted), whom{numbered_secret(2)});
  leave(reader(2));
  EXPECT_EQ(look(writer(3)).is, kind::waiting) << "the downgraded one still reads";
}

TEST_F(claim_book_rules, an_upgrade_needs_to_be_alone_and_makes_a_new_token) {
  const auto before = enter(reader(1)).token;
  enter(reader(2));
  EXPECT_EQ(convert(reader(1), lock_mode::exclusive, lock_capacity)->is, kind::busy);
  EXPECT_EQ(look(reader(1)).mode, lock_mode::shared);
  leave(reader(2));
  const auto now_writes = convert(reader(1), lock_mode::exclusive, lock_capacity).value();
  EXPECT_EQ(now_writes.is, kind::held);
  EXPECT_GT(now_writes.token, before);
}

TEST_F(claim_book_rules, a_queued_upgrade_goes_before_everyone_and_a_second_one_is_a_deadlock) {
  enter(reader(1));
  enter(reader(2));
  enter(writer(3));
  EXPECT_EQ(convert(reader(1), lock_mode::exclusive, lock_capacity, entry::queue)->is, kind::waiting);
  EXPECT_EQ(convert(reader(2), lock_mode::exclusive, lock_capacity, entry::queue).error(), errc::deadlock);
  EXPECT_EQ(enter(reader(4), entry::attempt).is, kind::busy) << "nobody joins the readers it waits for";
  leave(reader(2));
  EXPECT_EQ(told(book_news::kind::granted), whom{numbered_secret(1)});
  EXPECT_EQ(look(reader(1)).mode, lock_mode::exclusive);
}

TEST_F(claim_book_rules, a_queued_upgrade_can_be_taken_back) {
  enter(reader(1));
  enter(reader(2));
  convert(reader(1), lock_mode::exclusive, lock_capacity, entry::queue).value();
  EXPECT_EQ(convert(reader(1), lock_mode::shared, 1)->is, kind::held);
  EXPECT_EQ(enter(reader(3)).is, kind::held);
}

TEST_F(claim_book_rules, a_gentle_eviction_tells_the_holder_and_keeps_the_lock_shut_until_its_lease_is_over) {
  enter(writer(1));
  enter(writer(2));
  EXPECT_TRUE(evict(writer(1), false));
  EXPECT_EQ(told(book_news::kind::evicted), whom{numbered_secret(1)});
  const auto told_why = look(writer(1));
  EXPECT_EQ(told_why.is, kind::gone);
  EXPECT_EQ(told_why.reason, standing::cause::evicted);
  now += 3s;
  EXPECT_EQ(look(writer(2)).is, kind::waiting);
  now += 3s;
  look(writer(2));
  now += 3s;
  look(writer(2));
  now += 1001ms;
  EXPECT_EQ(look(writer(2)).is, kind::held);
}

TEST_F(claim_book_rules, an_evicted_reader_no_longer_waits_to_upgrade) {
  for (const bool force : {false, true}) {
    book.reset(lock_capacity, 0, 0);
    news.clear();
    enter(reader(1));
    enter(reader(2));
    ASSERT_EQ(convert(reader(1), lock_mode::exclusive, lock_capacity, entry::queue)->is, kind::waiting);
    EXPECT_TRUE(evict(reader(1), force));
    EXPECT_EQ(enter(reader(3)).is, kind::held) << "nobody is before it any more";
    leave(reader(2));
    leave(reader(3));
    EXPECT_TRUE(told(book_news::kind::granted).empty()) << "what has ended was granted";
    EXPECT_EQ(enter(writer(4), entry::attempt).is, force ? kind::held : kind::busy);
  }
}

TEST_F(claim_book_rules, a_forced_eviction_ends_exactly_the_one_named) {
  enter(reader(1));
  enter(reader(2));
  enter(writer(3));
  EXPECT_TRUE(evict(reader(2), true));
  EXPECT_EQ(look(reader(1)).is, kind::held);
  EXPECT_EQ(look(reader(2)).reason, standing::cause::evicted);
  EXPECT_FALSE(evict(reader(2), true)) << "it was gone already";
  EXPECT_TRUE(evict(writer(3), false));
  EXPECT_EQ(look(writer(3)).is, kind::gone) << "a waiter believes nothing yet and ends at once";
}

}  // namespace
}  // namespace interlock
