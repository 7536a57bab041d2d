// SPDX-License-Identifier: MIT
#include "core/claim_machine.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace std::chrono_literals;
using interlock::departure;
using interlock::entry;
using interlock::errc;
using interlock::failure;
using interlock::instant;
using interlock::loss_reason;
using interlock::standing;
using interlock::core::believed_until;
using machine = interlock::core::claim_machine;

constexpr instant t0{std::chrono::hours{1}};

machine make(interlock::milliseconds lease = 3s) {
  interlock::core::claim_terms terms;
  terms.lease = lease;
  terms.patience = 5s;
  return machine(terms);
}
standing held(std::uint64_t token = 7) {
  standing out;
  out.is = standing::kind::held;
  out.token = token;
  out.tokens = 1;
  return out;
}
standing waiting(std::uint32_t ahead = 0, interlock::milliseconds look = 0ms) {
  standing out;
  out.is = standing::kind::waiting;
  out.ahead = ahead;
  out.look_again_in = look;
  return out;
}
standing gone(standing::cause why = standing::cause::unknown) {
  standing out;
  out.is = standing::kind::gone;
  out.reason = why;
  return out;
}

TEST(claim_machine, a_hold_is_counted_from_before_the_question_left) {
  auto m = make();
  EXPECT_EQ(m.start(t0, entry::queue).next, machine::ask::enter);
  EXPECT_EQ(m.answered(t0, t0 + 1s, held()).news, machine::say::granted);
  EXPECT_EQ(m.until(), believed_until(t0, 3s));
  EXPECT_LT(m.until(), t0 + 3s);
}

TEST(claim_machine, a_grant_whose_lease_is_over_on_arrival_is_asked_about_again_and_then_given_up) {
  auto m = make(1s);
  m.start(t0, entry::queue);
  EXPECT_EQ(m.answered(t0, t0 + 2s, held()).next, machine::ask::look);
  EXPECT_EQ(m.answered(t0 + 2s, t0 + 4s, held()).next, machine::ask::look);
  const auto last = m.answered(t0 + 4s, t0 + 6s, held());
  EXPECT_EQ(last.news, machine::say::failed);
  EXPECT_EQ(*last.why, errc::unavailable);
  EXPECT_EQ(last.next, machine::ask::leave);
}

TEST(claim_machine, a_waiter_whose_own_lease_died_queues_anew_and_is_never_granted_under_the_old_name) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0 + 1ms, waiting());
  m.timer(m.due());
  const auto next = m.answered(t0 + 20s, t0 + 20s, gone());
  EXPECT_EQ(next.next, machine::ask::enter_anew);
  EXPECT_EQ(m.at(), machine::phase::asking);
}

TEST(claim_machine, a_push_grants_with_the_deadline_the_waiter_already_knew) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0 + 1ms, waiting());
  const auto known = m.until();
  EXPECT_EQ(m.granted(t0 + 100ms, held()).news, machine::say::granted);
  EXPECT_EQ(m.until(), known);
}

TEST(claim_machine, an_answer_that_was_overtaken_by_the_push_of_the_grant_is_no_loss) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0 + 1ms, waiting());
  const auto asked = m.due();
  EXPECT_EQ(m.timer(asked).next, machine::ask::look);
  EXPECT_EQ(m.granted(asked + 1ms, held()).news, machine::say::granted);
  const auto next = m.answered(asked, asked + 2ms, waiting());
  EXPECT_EQ(next.news, machine::say::nothing);
  EXPECT_EQ(next.next, machine::ask::look) << "and whether it is so";
  EXPECT_EQ(m.at(), machine::phase::held);
  EXPECT_EQ(m.answered(asked + 2ms, asked + 3ms, waiting()).news, machine::say::lost) << "asked afterwards, it is";
}

TEST(claim_machine, what_it_is_told_while_a_question_is_under_way_is_looked_at_behind_the_answer) {
  auto m = make();
  m.start(t0, entry::queue);
  m.look_again(t0 + 1ms);
  EXPECT_EQ(m.answered(t0, t0 + 2ms, waiting()).next, machine::ask::look) << "it was asked before";
  m.look_again(t0 + 3ms);
  EXPECT_EQ(m.answered(t0 + 2ms, t0 + 4ms, waiting()).next, machine::ask::look);
  EXPECT_EQ(m.answered(t0 + 4ms, t0 + 5ms, waiting()).next, machine::ask::nothing) << "once";
  EXPECT_GT(m.due(), t0 + 500ms);
}

TEST(claim_machine, a_push_too_close_to_the_end_is_renewed_before_it_is_believed) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0 + 1ms, waiting());
  const auto next = m.granted(m.until() - 10ms, held());
  EXPECT_EQ(next.news, machine::say::nothing);
  EXPECT_EQ(next.next, machine::ask::look);
}

TEST(claim_machine, a_push_that_overtakes_the_answer_leads_to_a_look_at_once) {
  auto m = make();
  m.start(t0, entry::queue);
  EXPECT_EQ(m.granted(t0 + 1ms, held()).news, machine::say::nothing);
  EXPECT_EQ(m.answered(t0, t0 + 2ms, waiting()).next, machine::ask::look);
}

TEST(claim_machine, it_renews_at_a_third_and_one_failure_is_not_the_end) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0, held());
  EXPECT_LE(m.due(), t0 + 1s);
  EXPECT_GT(m.due(), t0 + 900ms);
  const auto until = m.until();
  auto now = m.due();
  EXPECT_EQ(m.timer(now).next, machine::ask::look);
  EXPECT_EQ(m.failed(now, failure(errc::unavailable)).news, machine::say::jeopardy);
  EXPECT_EQ(m.until(), until) << "a failed renewal moves nothing";
  now = m.due();
  EXPECT_LT(now, until);
  EXPECT_EQ(m.timer(now).next, machine::ask::look);
  EXPECT_EQ(m.answered(now, now, held()).news, machine::say::recovered);
  EXPECT_EQ(m.until(), believed_until(now, 3s));
}

TEST(claim_machine, silence_is_jeopardy_and_then_loss_at_the_deadline_not_later) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0, held());
  const auto until = m.until();
  bool jeopardy = false;
  for (int i = 0; i < 1000 && m.at() == machine::phase::held; ++i) {
    const auto now = m.due();
    ASSERT_LE(now, until);
    const auto next = m.timer(now);
    jeopardy = jeopardy || next.news == machine::say::jeopardy;
    if (next.news == machine::say::lost) {
      EXPECT_EQ(now, until);
      EXPECT_EQ(next.loss, loss_reason::lapsed);
      EXPECT_EQ(next.next, machine::ask::leave);
    }
  }
  EXPECT_TRUE(jeopardy);
  EXPECT_EQ(m.at(), machine::phase::leaving);
}

TEST(claim_machine, a_renewal_confirmed_after_the_deadline_brings_nothing_back_even_if_no_timer_has_fired_yet) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0, held());
  const auto sent = m.due();
  ASSERT_EQ(m.timer(sent).next, machine::ask::look);
  const auto late = m.answered(sent, m.until(), held());
  EXPECT_EQ(late.news, machine::say::lost);
  EXPECT_EQ(late.loss, loss_reason::lapsed);
  EXPECT_EQ(late.next, machine::ask::leave);
}

TEST(claim_machine, a_store_that_forgot_us_or_evicted_us_means_loss_at_once) {
  for (const auto why : {standing::cause::unknown, standing::cause::evicted}) {
    auto m = make();
    m.start(t0, entry::queue);
    m.answered(t0, t0, held());
    m.timer(m.due());
    const auto next = m.answered(t0 + 1s, t0 + 1s, gone(why));
    EXPECT_EQ(next.news, machine::say::lost);
    EXPECT_EQ(next.loss, why == standing::cause::evicted ? loss_reason::broken : loss_reason::store_reset);
  }
}

TEST(claim_machine, never_asks_again_after_release) {
  auto m = make();
  m.start(t0, entry::queue);
  m.answered(t0, t0, held());
  EXPECT_EQ(m.drop(t0 + 1ms).next, machine::ask::leave);
  EXPECT_EQ(m.departed(t0 + 2ms, departure::released).news, machine::say::left);
  EXPECT_EQ(m.due(), instant::max());
  EXPECT_EQ(m.answered(t0, t0 + 3ms, held()).news, machine::say::nothing);
}

TEST(claim_machine, a_cancelled_unanswered_enter_is_left_finally_and_retried_until_the_lease_is_over) {
  auto m = make();
  m.start(t0, entry::queue);
  EXPECT_EQ(m.drop(t0 + 10ms).next, machine::ask::leave_final);
  int tries = 0;
  for (int i = 0; i < 1000 && m.at() != machine::phase::over; ++i) {
    const auto now = m.due();
    if (m.timer(now).next == machine::ask::leave_final) {
      ++tries;
      m.failed(now, failure(errc::unavailable));
    }
  }
  EXPECT_EQ(m.at(), machine::phase::over);
  EXPECT_GT(tries, 3);
}

TEST(claim_machine, silence_while_asking_is_indeterminate_and_a_refused_link_unavailable) {
  auto silent = make();
  silent.start(t0, entry::queue);
  const auto gave_up = silent.timer(silent.due());
  EXPECT_EQ(silent.at(), machine::phase::leaving);
  EXPECT_EQ(*gave_up.why, errc::indeterminate);
  EXPECT_EQ(gave_up.next, machine::ask::leave_final);

  auto refused = make();
  refused.start(t0, entry::queue);
  auto now = t0;
  for (;;) {
    auto next = refused.failed(now, failure(errc::unavailable));
    if (next.news == machine::say::failed) {
      EXPECT_EQ(*next.why, errc::unavailable);
      EXPECT_EQ(next.next, machine::ask::nothing) << "nothing was sent, so there is nothing to undo";
      break;
    }
    now = refused.due();
    ASSERT_LE(now, t0 + 6s);
    next = refused.timer(now);
    if (next.news == machine::say::failed) {
      EXPECT_EQ(*next.why, errc::unavailable);
      break;
    }
  }
}

TEST(claim_machine, the_head_of_the_line_asks_when_the_lease_before_it_is_over_and_the_others_later) {
  auto head = make(30s), third = make(30s);
  head.start(t0, entry::queue);
  head.answered(t0, t0, waiting(0, 500ms));
  third.start(t0, entry::queue);
  third.answered(t0, t0, waiting(2, 500ms));
  EXPECT_EQ(head.due(), t0 + 505ms);
  EXPECT_EQ(third.due(), t0 + 555ms);
}

TEST(claim_machine, idle_waiters_look_once_per_third_of_the_wait_lease) {
  auto m = make(30s);
  m.start(t0, entry::queue);
  m.answered(t0, t0, waiting(0, 29s));
  EXPECT_GT(m.due(), t0 + 3s);
}

TEST(claim_machine, without_push_the_head_polls) {
  interlock::core::claim_terms terms;
  terms.lease = 30s;
  terms.patience = 5s;
  terms.push = false;
  machine m(terms);
  m.start(t0, entry::queue);
  m.answered(t0, t0, waiting());
  EXPECT_LT(m.due(), t0 + 20ms);
}

TEST(claim_machine, max_hold_ends_it_whatever_the_renewals_say) {
  interlock::core::claim_terms terms;
  terms.lease = 3s;
  terms.patience = 5s;
  terms.max_hold = 10s;
  machine m(terms);
  m.start(t0, entry::queue);
  m.answered(t0, t0, held());
  for (;;) {
    const auto now = m.due();
    const auto next = m.timer(now);
    if (next.next == machine::ask::look) m.answered(now, now, held());
    if (next.news != machine::say::lost) continue;
    EXPECT_EQ(now, t0 + 10s);
    EXPECT_EQ(next.loss, loss_reason::overheld);
    break;
  }
}

}  // namespace
