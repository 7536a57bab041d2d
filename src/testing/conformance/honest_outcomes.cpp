// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <set>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(honest_outcomes);

TEST_P(honest_outcomes, silence_is_indeterminate_and_not_busy) {
  auto host = store->join({.patience = 300ms});
  host.link->cut();
  const auto reply = host.locks.attempt("orders/42", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::indeterminate) << reply.error().message();
  EXPECT_THROW(static_cast<void>(host.locks.try_acquire("orders/42")), lock_error);
}

TEST_P(honest_outcomes, silence_during_a_wait_is_not_busy_either) {
  const auto first = store->connect();
  auto host = store->join({.patience = 300ms});
  const auto held = first.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(host.locks, {.lease = store->short_lease(), .wait = 2s});
  host.link->cut();
  const auto reply = wait.get_result();
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::indeterminate || reply.error() == errc::unavailable) << reply.error().message();
}

TEST_P(honest_outcomes, a_link_that_is_known_to_be_down_is_unavailable) {
  auto host = store->join({.patience = 300ms});
  host.link->refuse();
  const auto reply = host.locks.attempt("orders/42", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::unavailable) << reply.error().message();
  EXPECT_FALSE(store->peek("orders/42"));
}

TEST_P(honest_outcomes, a_queueing_call_survives_a_link_that_comes_back) {
  auto host = store->join();
  host.link->refuse();
  auto wait = host.locks.async_acquire("orders/42", {.wait = 30s});
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(wait.ready());
  host.link->heal();
  EXPECT_TRUE(wait.get().valid());
}

TEST_P(honest_outcomes, a_lost_answer_to_a_grant_leaves_one_owner_or_none_but_never_a_busy_lock_nobody_has) {
  auto host = store->join({.patience = 1s});
  host.link->lose_replies(request::enter);
  {
    auto reply = host.locks.attempt("orders/42", {.wait = 5s});
    const auto now = store->inspect("orders/42");
    if (reply) {
      EXPECT_EQ(now.holders.size(), 1U);
      EXPECT_TRUE(now.waiters.empty());
      EXPECT_EQ(now.holders.at(0).id, reply->id());
      std::set<claim_id> ids;
      for (const auto& one : host.link->entered()) ids.insert(public_id(one.secret));
      EXPECT_EQ(ids.size(), 1U) << "asked again under another identity";
      EXPECT_TRUE(reply->release());
    } else {
      EXPECT_EQ(reply.error(), errc::indeterminate);
    }
  }
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(honest_outcomes, a_lost_answer_to_a_try_that_was_granted_is_not_reported_as_busy) {
  auto host = store->join({.patience = 400ms});
  host.link->lose_replies(request::enter);
  const auto reply = host.locks.attempt("orders/42", {.wait = 0ms});
  if (!reply) {
    EXPECT_EQ(reply.error(), errc::indeterminate);
    EXPECT_TRUE(becomes_free("orders/42"));
  } else {
    EXPECT_TRUE(reply->valid());
  }
}

TEST_P(honest_outcomes, what_ended_without_a_grant_never_becomes_a_hold_later) {
  auto host = store->join({.patience = 300ms});
  host.link->lose_replies(request::enter, 100);
  const auto reply = host.locks.attempt("orders/42", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::indeterminate);
  EXPECT_TRUE(becomes_free("orders/42")) << "it is undone in the background, long before the lease of 30 s is over";
}

TEST_P(honest_outcomes, a_request_that_was_given_up_and_arrives_late_has_no_effect) {
  auto host = store->join({.patience = 300ms});
  host.link->hold_back_enters();
  const auto reply = host.locks.attempt("orders/42", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::indeterminate);
  ASSERT_TRUE(eventually([&] { return host.link->sent(request::leave) > 0; })) << "nothing was undone";
  std::this_thread::sleep_for(50ms);
  host.link->let_late_enters_arrive();
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(store->peek("orders/42")) << "held by nobody, for the length of a lease";
  EXPECT_TRUE(store->connect().try_acquire("orders/42"));
}

TEST_P(honest_outcomes, a_lost_answer_to_a_release_is_don_t_know_and_is_undone) {
  auto host = store->join({.patience = 300ms});
  auto held = host.locks.acquire("orders/42");
  host.link->lose_requests(request::leave);
  const auto released = held.release();
  EXPECT_TRUE(released || released.error() == errc::indeterminate) << released.error().message();
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(becomes_free("orders/42")) << "long before the lease of 30 s is over";
}

TEST_P(honest_outcomes, after_the_faults_end_the_first_acquire_succeeds) {
  auto host = store->join({.patience = 300ms});
  host.link->cut();
  EXPECT_FALSE(host.locks.attempt("orders/42", {.wait = 0ms}));
  host.link->heal();
  EXPECT_TRUE(eventually([&] { return host.locks.attempt("orders/42", {.wait = 2s}).has_value(); }));
}

TEST_P(honest_outcomes, errors_name_the_lock_and_the_store) {
  const auto first = store->connect(), second = store->connect();
  const auto held = first.acquire("orders/42");
  const auto reply = second.attempt("orders/42", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message().find("orders/42"), std::string::npos) << reply.error().message();
}

}  // namespace interlock::inline v1::testing
