// SPDX-License-Identifier: MIT
#include "testing/conformance/asking.hpp"
#include "testing/conformance/suite.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

/// The backend interface itself, with no client and no engine in between: what a backend's author breaks first.
namespace interlock::inline v1::testing {

using kind = standing::kind;

namespace {

/// Answers to requests that are made one after the other, whenever they come.
template <class T>
class answers {
 public:
  completion<T> next() {
    const std::lock_guard lock(all_->mutex);
    all_->got.emplace_back();
    return [all = all_, place = all_->got.size() - 1](result<T> got) {
      const std::lock_guard arrival(all->mutex);
      all->got[place].emplace(std::move(got));
      ++all->arrived;
      all->news.notify_all();
    };
  }
  /// How many of them are this one, once all are there; -1 if that takes longer than anything should.
  template <class Is>
  int count(Is is) const {
    std::unique_lock lock(all_->mutex);
    if (!all_->news.wait_for(lock, 20s, [&] { return all_->arrived == all_->got.size(); })) return -1;
    return static_cast<int>(
        std::count_if(all_->got.begin(), all_->got.end(), [&](const auto& one) { return *one && is(**one); }));
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable news;
    std::vector<std::optional<result<T>>> got;
    std::size_t arrived = 0;
  };
  std::shared_ptr<state> all_ = std::make_shared<state>();
};

bool holds(const result<standing>& how) { return how && how->is == kind::held; }
bool released(const result<departure>& how) { return how && *how == departure::released; }

}  // namespace

class waist : public store_test {
 protected:
  void SetUp() override {
    store_test::SetUp();
    store->waist_link().treat_pushes(fault_link::pushes::drop);  // the engine knows nothing of these claims
  }
  backend& db() { return store->waist(); }
  static bool among(const std::vector<claim_secret>& all, const claim& who) {
    return std::find(all.begin(), all.end(), who.secret) != all.end();
  }
  bool granted(const claim& to) { return among(store->waist_link().granted(), to); }
  /// A store may tell the next one to look, where a grant alone is not to be believed.
  bool woken(const claim& whom) { return granted(whom) || among(store->waist_link().told_to_look(), whom); }
};

void keep_waist() {}
INSTANTIATE_TEST_SUITE_P(, waist, ::testing::ValuesIn(registered_stores()),
                         [](const ::testing::TestParamInfo<std::string>& which) { return which.param; });

TEST_P(waist, entering_twice_is_one_claim_with_one_token) {
  const auto who = fresh_claim("x");
  const auto first = enter(db(), who).value(), again = enter(db(), who).value();
  EXPECT_EQ(first.is, kind::held);
  EXPECT_EQ(again.is, kind::held);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(store->inspect("x").holders.size(), 1U);
}

TEST_P(waist, entering_the_queue_twice_is_one_place) {
  INTERLOCK_NEEDS(fifo);
  ASSERT_EQ(enter(db(), fresh_claim("x"))->is, kind::held);
  const auto who = fresh_claim("x");
  EXPECT_EQ(enter(db(), who)->is, kind::waiting);
  EXPECT_EQ(enter(db(), who)->is, kind::waiting);
  EXPECT_EQ(store->inspect("x").waiters.size(), 1U);
}

TEST_P(waist, an_attempt_that_does_not_fit_leaves_nothing_and_tells_when_to_look_again) {
  ASSERT_EQ(enter(db(), fresh_claim("x", 10s))->is, kind::held);
  const auto who = fresh_claim("x");
  const auto refused = enter(db(), who, entry::attempt).value();
  EXPECT_EQ(refused.is, kind::busy);
  EXPECT_LE(refused.look_again_in, 10s + store->traits().tick);
  EXPECT_TRUE(store->inspect("x").waiters.empty());
  EXPECT_EQ(look(db(), who)->is, kind::gone);
}

TEST_P(waist, a_waiting_claim_knows_how_many_are_ahead_and_a_held_one_how_many_are_behind) {
  INTERLOCK_NEEDS(fifo);
  const auto holder = fresh_claim("x");
  ASSERT_EQ(enter(db(), holder)->is, kind::held);
  EXPECT_EQ(enter(db(), fresh_claim("x"))->ahead, 0U);
  EXPECT_EQ(enter(db(), fresh_claim("x"))->ahead, 1U);
  EXPECT_EQ(look(db(), holder)->behind, 2U);
}

TEST_P(waist, looking_never_creates) {
  EXPECT_EQ(look(db(), fresh_claim("x"))->is, kind::gone);
  EXPECT_FALSE(store->peek("x"));
  const auto who = fresh_claim("x");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  ASSERT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_FALSE(store->peek("x"));
}

TEST_P(waist, looking_does_not_revive_what_has_run_out) {
  const auto who = fresh_claim("x", store->short_lease());
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  std::this_thread::sleep_for(store->short_lease() + store->traits().tick + 20ms);
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_FALSE(store->peek("x"));
}

TEST_P(waist, looking_extends_what_is_held_and_what_waits) {
  INTERLOCK_NEEDS(fifo);
  const auto lease = 2 * store->short_lease();
  const auto holder = fresh_claim("x", lease), waiter = fresh_claim("x", lease);
  ASSERT_EQ(enter(db(), holder)->is, kind::held);
  ASSERT_EQ(enter(db(), waiter)->is, kind::waiting);
  const std::array<claim, 2> both{holder, waiter};
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(lease / 3);
    const auto answers = look(db(), both).value();
    ASSERT_EQ(answers.size(), 2U);
    ASSERT_EQ(answers[0]->is, kind::held);
    ASSERT_EQ(answers[1]->is, kind::waiting);
  }
}

TEST_P(waist, what_is_asked_together_is_answered_after_a_flush_and_takes_effect_in_the_order_it_was_asked) {
  constexpr int many = 100;
  std::vector<std::string> labels;
  for (int i = 0; i < many; ++i) labels.push_back("together/" + std::to_string(i));
  std::vector<claim> first, second;
  answers<standing> entered;
  for (const auto& label : labels)
    db().enter(first.emplace_back(fresh_claim(label)), entry::queue, inline_work::together, entered.next());
  db().flush();
  ASSERT_EQ(entered.count(holds), many);

  // Each is left and at once taken by another; some are asked for between the leaves of others.
  answers<departure> left;
  answers<standing> taken;
  const auto take = [&](const std::string& label) {
    db().enter(second.emplace_back(fresh_claim(label)), entry::attempt, inline_work::together, taken.next());
  };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    db().leave(first[i], finality::answered, inline_work::together, left.next());
    if (i % 3 == 0) take(labels[i]);
  }
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (i % 3 != 0) take(labels[i]);
  db().flush();
  EXPECT_EQ(left.count(released), many);
  EXPECT_EQ(taken.count(holds), many);
}

TEST_P(waist, what_was_to_be_sent_together_is_sent_though_nobody_flushes) {
  const auto who = fresh_claim("x"), next = fresh_claim("x");
  answers<standing> entered;
  answers<departure> left;
  db().enter(who, entry::queue, inline_work::together, entered.next());
  EXPECT_EQ(entered.count(holds), 1);
  db().leave(who, finality::answered, inline_work::together, left.next());
  EXPECT_EQ(left.count(released), 1);
  db().enter(next, entry::attempt, inline_work::together, entered.next());
  EXPECT_EQ(entered.count(holds), 2);
}

TEST_P(waist, a_batch_answers_for_each_claim_in_order) {
  std::vector<claim> batch;
  std::vector<std::string> labels;
  for (int i = 0; i < 128; ++i) labels.push_back("batch/" + std::to_string(i));
  for (const auto& label : labels) {
    batch.push_back(fresh_claim(label));
    if (batch.size() % 2 == 0) {
      ASSERT_EQ(enter(db(), batch.back())->is, kind::held);
    }
  }
  const auto answers = look(db(), batch).value();
  ASSERT_EQ(answers.size(), batch.size());
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i]->is, i % 2 == 1 ? kind::held : kind::gone) << i;
}

TEST_P(waist, leaving_says_what_it_was_and_removes_nothing_else) {
  const auto one = fresh_claim("x"), two = fresh_claim("x");
  ASSERT_EQ(enter(db(), one)->is, kind::held);
  EXPECT_EQ(*leave(db(), two), departure::gone);
  EXPECT_TRUE(store->peek("x"));
  if (store->traits().fifo) {
    ASSERT_EQ(enter(db(), two)->is, kind::waiting);
    EXPECT_EQ(*leave(db(), two), departure::left);
  }
  EXPECT_EQ(*leave(db(), one), departure::released);
  EXPECT_EQ(*leave(db(), one), departure::gone);
}

TEST_P(waist, after_a_final_leave_a_late_enter_never_takes_effect) {
  const auto who = fresh_claim("x");
  EXPECT_EQ(*leave(db(), who, finality::final), departure::gone);
  EXPECT_EQ(enter(db(), who)->is, kind::gone);
  EXPECT_EQ(enter(db(), who, entry::attempt)->is, kind::gone);
  EXPECT_FALSE(store->peek("x"));
  EXPECT_EQ(enter(db(), fresh_claim("x"))->is, kind::held) << "a tombstone is in nobody's way";
}

TEST_P(waist, a_final_leave_of_a_held_claim_frees_it_for_good) {
  const auto who = fresh_claim("x");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(*leave(db(), who, finality::final), departure::released);
  EXPECT_EQ(enter(db(), who)->is, kind::gone);
  EXPECT_FALSE(store->peek("x"));
}

TEST_P(waist, a_claim_that_ran_out_in_the_queue_is_never_granted_afterwards) {
  INTERLOCK_NEEDS(fifo);
  const auto holder = fresh_claim("x", 20s), dead = fresh_claim("x", store->short_lease());
  ASSERT_EQ(enter(db(), holder)->is, kind::held);
  ASSERT_EQ(enter(db(), dead)->is, kind::waiting);
  std::this_thread::sleep_for(store->short_lease() + store->traits().tick + 20ms);
  ASSERT_EQ(*leave(db(), holder), departure::released);
  EXPECT_EQ(look(db(), dead)->is, kind::gone);
  EXPECT_FALSE(store->peek("x"));
}

TEST_P(waist, a_grant_does_not_move_the_lease_of_the_one_who_waited) {
  INTERLOCK_NEEDS(fifo);
  const auto lease = 2 * store->short_lease();
  const auto holder = fresh_claim("x", 20s);
  auto waiter = fresh_claim("x", 20s);
  waiter.wait_lease = lease;
  ASSERT_EQ(enter(db(), holder)->is, kind::held);
  ASSERT_EQ(enter(db(), waiter)->is, kind::waiting);
  ASSERT_EQ(*leave(db(), holder), departure::released);
  EXPECT_LE(store->inspect("x").holders.at(0).lease_left, lease + store->traits().tick);
  EXPECT_EQ(look(db(), waiter)->is, kind::held);
  EXPECT_GT(store->inspect("x").holders.at(0).lease_left, lease + store->traits().tick) << "its own look does";
}

TEST_P(waist, a_release_pushes_the_grant_to_the_next_and_to_nobody_else) {
  INTERLOCK_NEEDS(push);
  INTERLOCK_NEEDS(fifo);  // without an order there is no next: waiters are told to look
  const auto holder = fresh_claim("x"), next = fresh_claim("x"), later = fresh_claim("x");
  ASSERT_EQ(enter(db(), holder)->is, kind::held);
  ASSERT_EQ(enter(db(), next)->is, kind::waiting);
  ASSERT_EQ(enter(db(), later)->is, kind::waiting);
  ASSERT_EQ(*leave(db(), holder), departure::released);
  EXPECT_TRUE(eventually([&] { return woken(next); }));
  EXPECT_FALSE(granted(later));
  EXPECT_FALSE(granted(holder));
}

TEST_P(waist, reserved_tokens_are_nobody_elses) {
  INTERLOCK_NEEDS(tokens);
  auto many = fresh_claim("x");
  many.tokens = 16;
  const auto first = enter(db(), many).value();
  ASSERT_EQ(first.is, kind::held);
  ASSERT_GE(first.tokens, 1U);
  const auto more = look(db(), many).value();
  EXPECT_GE(more.token, first.token + first.tokens) << "a fresh block";
  ASSERT_EQ(*leave(db(), many), departure::released);
  EXPECT_GE(enter(db(), fresh_claim("x"))->token, more.token + more.tokens);
}

TEST_P(waist, two_clients_of_one_store_see_the_same_claims) {
  const auto other = store->join();
  other.link->treat_pushes(fault_link::pushes::drop);
  const auto who = fresh_claim("x");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(enter(other.link->store(), fresh_claim("x"), entry::attempt)->is, kind::busy);
  if (!knows_claims("x")) return;
  EXPECT_EQ(*leave(other.link->store(), who), departure::released) << "a claim belongs to who knows its secret";
}

TEST_P(waist, pages_of_a_survey_join_up) {
  INTERLOCK_NEEDS(survey);
  for (const char* name : {"p/1", "p/2", "p/3", "q"}) ASSERT_EQ(enter(db(), fresh_claim(name))->is, kind::held);
  const auto first = survey(db(), {.prefix = "p/", .most = 2}).value();
  ASSERT_EQ(first.locks.size(), 2U);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.locks[1].name, "p/2");
  const auto rest = survey(db(), {.prefix = "p/", .after = "p/2", .most = 2}).value();
  ASSERT_EQ(rest.locks.size(), 1U);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(rest.locks[0].name, "p/3");
  EXPECT_EQ(survey(db(), {.prefix = "p/2", .exact = true})->locks.size(), 1U);
  EXPECT_TRUE(survey(db(), {.prefix = "p/", .exact = true})->locks.empty());
}

TEST_P(waist, an_eviction_marks_or_ends_exactly_one_claim) {
  INTERLOCK_NEEDS(survey);
  const auto who = fresh_claim("x", 20s);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_FALSE(*evict(db(), "x", public_id(fresh_claim("x").secret), true));
  EXPECT_TRUE(*evict(db(), "x", public_id(who.secret), false));
  const auto told = look(db(), who).value();
  EXPECT_EQ(told.is, kind::gone);
  EXPECT_EQ(told.reason, standing::cause::evicted);
  EXPECT_EQ(enter(db(), fresh_claim("x"), entry::attempt)->is, kind::busy)
      << "marked only: the lease still keeps it shut";
}

}  // namespace interlock::inline v1::testing
