// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <optional>
#include <stdexcept>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(endings);

TEST_P(endings, a_cancelled_wait_ends_with_cancelled_and_leaves_nothing) {
  const auto held = store->connect().acquire("orders/42");
  std::stop_source change_of_mind;
  const auto locks = store->connect();
  auto wait = locks.async_acquire("orders/42", {}, change_of_mind.get_token());
  ASSERT_TRUE(eventually([&] { return store->waiting("orders/42") > 0; }));
  change_of_mind.request_stop();
  const auto reply = wait.get_result();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::cancelled);
  EXPECT_TRUE(eventually([&] { return store->inspect("orders/42").waiters.empty(); }, 2s))
      << "long before its lease is over";
  EXPECT_TRUE(held.valid());
}

TEST_P(endings, a_stop_requested_beforehand_takes_nothing) {
  std::stop_source already;
  already.request_stop();
  const auto reply = store->connect().attempt("orders/42", {}, already.get_token());
  if (reply) {
    EXPECT_TRUE(reply->valid());
  } else {
    EXPECT_EQ(reply.error(), errc::cancelled);
    EXPECT_TRUE(becomes_free("orders/42"));
  }
}

TEST_P(endings, a_cancel_returns_promptly_although_the_store_is_silent) {
  auto host = store->join();
  const auto held = store->connect().acquire("orders/42");
  for (const bool queued_first : {true, false}) {
    if (!queued_first) host.link->cut();
    std::stop_source change_of_mind;
    auto wait = host.locks.async_acquire("orders/42", {}, change_of_mind.get_token());
    if (queued_first) {
      ASSERT_TRUE(eventually([&] { return store->waiting("orders/42") > 0; }));
      host.link->cut();
    }
    std::this_thread::sleep_for(50ms);
    const auto begin = std::chrono::steady_clock::now();
    change_of_mind.request_stop();
    const auto reply = wait.get_result();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s)
        << "the contract says 100 ms; the rest is for a loaded machine";
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), errc::cancelled);
    host.link->heal();
    EXPECT_TRUE(eventually([&] { return store->inspect("orders/42").waiters.empty(); }))
        << "undone when the link is back";
  }
}

TEST_P(endings, cancelling_at_any_moment_leaves_nothing) {
  const auto first = store->connect(), second = store->connect();
  for (int round = 0; round < 30; ++round) {
    std::optional<guard> held;
    if (round % 2 == 0) held = first.acquire("orders/42");
    std::stop_source change_of_mind;
    auto wait = second.async_acquire("orders/42", {}, change_of_mind.get_token());
    std::this_thread::sleep_for(std::chrono::microseconds(round * 60));
    if (round % 3 == 0) held.reset();
    change_of_mind.request_stop();
    auto reply = wait.get_result();
    EXPECT_TRUE(reply || reply.error() == errc::cancelled);
  }
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(endings, a_release_that_nobody_waits_for_happens_and_its_answer_is_for_nobody_else) {
  auto first = store->join(), second = store->join();
  auto held = first.locks.acquire("orders/42");
  auto other = second.locks.acquire("orders/43");
  first.link->cut();
  second.link->cut();
  { const auto forgotten = held.async_release(); }
  auto awaited = other.async_release();  // in the memory of the one before, as it happens
  first.link->heal();
  EXPECT_TRUE(becomes_free("orders/42"));
  const bool before_it_was_sent = awaited.ready();
  second.link->heal();
  const auto said = awaited.get_result();
  EXPECT_FALSE(before_it_was_sent && said);
  EXPECT_TRUE(becomes_free("orders/43"));
}

TEST_P(endings, one_callers_cancel_does_not_drop_the_others_of_its_process) {
  auto held = store->connect().acquire("orders/42");
  const auto locks = store->connect();
  std::stop_source change_of_mind;
  auto leaves = locks.async_acquire("orders/42", {}, change_of_mind.get_token());
  auto stays = locks.async_acquire("orders/42");
  ASSERT_TRUE(eventually([&] { return store->waiting("orders/42") > 0; }));
  change_of_mind.request_stop();
  EXPECT_EQ(leaves.get_result().error(), errc::cancelled);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(stays.get().valid());
}

TEST_P(endings, dropping_a_pending_operation_undoes_it) {
  auto held = store->connect().acquire("orders/42");
  const auto locks = store->connect();
  {
    const auto wait = locks.async_acquire("orders/42");
    ASSERT_TRUE(eventually([&] { return store->waiting("orders/42") > 0; }));
  }
  EXPECT_TRUE(eventually([&] { return store->inspect("orders/42").waiters.empty(); }));
  EXPECT_TRUE(held.release());
  {
    const auto granted = locks.async_acquire("orders/42");
    EXPECT_TRUE(eventually([&] { return granted.ready(); }));
  }
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(endings, a_guard_that_goes_out_of_scope_releases_without_waiting_for_the_lease) {
  const auto locks = store->connect(), other = store->connect();
  { const auto held = locks.acquire("orders/42"); }
  EXPECT_TRUE(other.attempt("orders/42", {.wait = 20s}));
}

TEST_P(endings, a_released_guard_never_reports_loss) {
  event_log log;
  const auto locks = store->connect({.observer = log.writer()});
  auto held = locks.acquire("orders/42", {.lease = store->short_lease()});
  const auto lost = held.lost();
  EXPECT_TRUE(held.release());
  std::this_thread::sleep_for(2 * store->short_lease());
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_EQ(log.count(event_kind::lost), 0U);
  EXPECT_EQ(log.count(event_kind::released), 1U);
}

TEST_P(endings, close_hands_over_and_says_so) {
  event_log log;
  const auto locks = store->connect({.observer = log.writer()}), other = store->connect();
  const auto held = locks.acquire("orders/42");
  const auto theirs = other.acquire("orders/43");
  auto wait = locks.async_acquire("orders/43");
  ASSERT_TRUE(eventually([&] { return store->waiting("orders/43") > 0; }));
  locks.close();
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.why_lost(), loss_reason::closed);
  EXPECT_EQ(wait.get_result().error(), errc::cancelled);
  EXPECT_TRUE(other.attempt("orders/42", {.wait = 10s}));
  EXPECT_TRUE(eventually([&] { return store->inspect("orders/43").waiters.empty(); }));
  const auto reply = locks.attempt("orders/44", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::closed);
}

TEST_P(endings, the_last_handle_takes_its_holds_and_waits_along) {
  {
    std::optional<guard> held;
    {
      const auto locks = store->connect();
      held = locks.acquire("orders/42");
    }
    EXPECT_TRUE(held->valid()) << "a guard keeps its client alive";
    EXPECT_TRUE(store->peek("orders/42"));
  }
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(endings, an_exception_releases_what_was_held) {
  const auto locks = store->connect();
  try {
    const auto one = locks.acquire("orders/42");
    const auto two = locks.acquire("orders/43");
    throw std::runtime_error("the job failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(becomes_free("orders/42"));
  EXPECT_TRUE(becomes_free("orders/43"));
}

TEST_P(endings, nothing_is_left_when_everybody_has_ended_in_every_way) {
  const auto lease = store->short_lease();
  {
    auto dead = store->join({.linger = 100ms, .patience = 300ms});
    const auto held = dead.locks.acquire("a", {.lease = lease});
    auto wait = store->connect().async_acquire("a", {.lease = lease, .wait = 50ms});
    EXPECT_FALSE(wait.get_result());
    const auto dropped = store->connect().async_acquire("a", {.lease = lease});
    static_cast<void>(dead.locks.attempt("b", {.lease = lease}));
    dead.link->cut();
    static_cast<void>(dead.locks.attempt("c", {.lease = lease, .wait = 0ms}));
  }
  EXPECT_TRUE(eventually([&] { return store->empty({"a", "b", "c"}); }));
}

}  // namespace interlock::inline v1::testing
