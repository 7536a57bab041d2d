// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

/// A blocking caller with nobody else about asks and fetches the answer itself, past everything that is there for many
/// requests at once. Whatever comes in between must go as if it had not: others who ask, deadlines, pushes, errors, and
/// the end.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_server;
using test_support::tcp_proxy;

struct redis_exchange : ::testing::TestWithParam<std::string> {
  redis_server server{};
  tcp_proxy link{server.port()};

  [[nodiscard]] std::unique_ptr<client> connect(const std::string& options = {}) const {
    auto all = GetParam();
    if (!options.empty()) all += (all.empty() ? "" : "&") + options;
    auto made = std::make_unique<client>(server.url_at(link.port(), all));
    // Scripts are sent with their first call, which goes the long way; a name that is known goes the shortest.
    for (const auto* const known : {"warm", "a", "first", "same"}) made->acquire(known).release().value();
    return made;
  }
  /// On another thread, which has asked when this returns.
  template <class F>
  auto under_way(F call) {
    const auto before = link.seen().to_server;
    auto out = std::async(std::launch::async, std::move(call));
    EXPECT_TRUE(eventually([&] { return link.seen().to_server > before; }, 5s)) << "it has asked";
    return out;
  }
  [[nodiscard]] std::future<result<guard>> asking(const client& locks, const std::string& name,
                                                  std::stop_token stop = {}) {
    return under_way([&locks, name, stop] { return locks.attempt(name, lease_of(20s), stop); });
  }
  [[nodiscard]] std::future<result<void>> releasing(guard& held) {
    return under_way([&held] { return held.release(); });
  }
};

template <class T>
bool is_ready(const std::future<T>& what, std::chrono::milliseconds within) {
  return what.wait_for(within) == std::future_status::ready;
}

TEST_P(redis_exchange, others_who_ask_meanwhile_are_sent_and_answered) {
  const auto locks = connect();
  link.hold();
  auto first = asking(*locks, "first");
  auto second = asking(*locks, "second");
  auto third = locks->async_acquire("third", lease_of(20s));
  EXPECT_FALSE(is_ready(first, 20ms));
  link.heal();
  EXPECT_TRUE(first.get().value().release());
  EXPECT_TRUE(second.get().value().release());
  EXPECT_TRUE(third.get().release());
}

TEST_P(redis_exchange, who_asks_for_the_same_name_meanwhile_queues_behind) {
  const auto locks = connect();
  link.hold();
  auto first = asking(*locks, "same");
  auto second = std::async(std::launch::async, [&] { return locks->attempt("same", lease_of(20s)); });
  EXPECT_FALSE(is_ready(second, 50ms));
  link.heal();
  auto held = first.get().value();
  EXPECT_FALSE(is_ready(second, 50ms));
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(second.get().value().valid());
}

TEST_P(redis_exchange, an_answer_that_does_not_come_is_given_up_in_time) {
  const auto locks = connect("timeout=300ms&patience=700ms");
  link.cut();
  const auto from = clock::now();
  const auto got = locks->attempt("a", lease_of(20s));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::indeterminate);
  EXPECT_LT(clock::now() - from, 3s);
  link.heal();
  EXPECT_TRUE(eventually([&] { return locks->attempt("a", lease_of(20s)).has_value(); }, 5s)) << "undone";
}

TEST_P(redis_exchange, patience_that_is_shorter_than_a_request_may_take_is_kept) {
  const auto locks = connect("timeout=30s&patience=200ms");
  link.cut();
  const auto from = clock::now();
  const auto got = locks->attempt("a", lease_of(20s));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::indeterminate);
  EXPECT_LT(clock::now() - from, 5s);
}

TEST_P(redis_exchange, a_caller_who_is_stopped_does_not_wait_for_the_answer) {
  const auto locks = connect("timeout=30s&patience=60s");
  link.hold();
  std::stop_source stop;
  auto waiting = asking(*locks, "a", stop.get_token());
  const auto from = clock::now();
  stop.request_stop();
  const auto got = waiting.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::cancelled);
  EXPECT_LT(clock::now() - from, 5s);
  link.heal();
  EXPECT_TRUE(eventually([&] { return connect()->try_acquire("a").has_value(); }, 5s)) << "and it was undone";
}

TEST_P(redis_exchange, closing_the_client_ends_a_call_that_waits_for_its_answer) {
  const auto locks = connect("timeout=30s&patience=60s&linger=200ms");
  link.cut();
  auto waiting = asking(*locks, "a");
  const auto from = clock::now();
  locks->close();
  EXPECT_LT(clock::now() - from, 10s);
  const auto got = waiting.get();
  EXPECT_LT(clock::now() - from, 10s);
  EXPECT_FALSE(got);
}

TEST_P(redis_exchange, a_connection_that_breaks_meanwhile_costs_the_caller_nothing) {
  const auto locks = connect();
  for (int round = 0; round < 5; ++round) {
    link.hold();
    auto waiting = asking(*locks, "a");
    link.reset();
    link.heal();
    auto got = waiting.get();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_TRUE(got->release());
  }
}

TEST_P(redis_exchange, others_who_ask_while_a_release_is_under_way_get_their_answers_and_it_its_own) {
  const auto locks = connect();
  auto held = locks->acquire("a", lease_of(20s));
  link.hold();
  auto over = releasing(held);
  auto same = std::async(std::launch::async, [&] { return locks->attempt("a", lease_of(20s)); });
  auto other = asking(*locks, "second");
  EXPECT_FALSE(is_ready(over, 20ms));
  link.heal();
  EXPECT_TRUE(over.get());
  EXPECT_TRUE(same.get().value().valid());
  EXPECT_TRUE(other.get().value().release());
}

TEST_P(redis_exchange, a_release_whose_answer_does_not_come_is_given_up_in_time_and_tried_on) {
  const auto locks = connect("timeout=300ms&patience=700ms");
  auto held = locks->acquire("a", lease_of(60s));
  link.cut();
  const auto from = clock::now();
  const auto done = held.release();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), errc::indeterminate);
  EXPECT_LT(clock::now() - from, 3s);
  link.heal();
  const client other(server.url(GetParam()));
  EXPECT_TRUE(eventually([&] { return other.try_acquire("a").has_value(); }, 10s)) << "long before the lease is over";
}

TEST_P(redis_exchange, a_release_of_what_the_server_has_forgotten_says_so) {
  const auto locks = connect();
  auto held = locks->acquire("a", lease_of(20s));
  server.command({"FLUSHALL"});
  const auto done = held.release();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), errc::lost);
  EXPECT_TRUE(locks->acquire("a").release());
}

TEST_P(redis_exchange, closing_the_client_ends_a_release_that_waits_for_its_answer) {
  const auto locks = connect("timeout=30s&patience=60s&linger=200ms");
  auto held = locks->acquire("a", lease_of(20s));
  link.cut();
  auto over = releasing(held);
  const auto from = clock::now();
  locks->close();
  EXPECT_FALSE(over.get());
  EXPECT_LT(clock::now() - from, 10s);
}

TEST_P(redis_exchange, held_locks_are_renewed_between_and_during_lone_calls) {
  const auto locks = connect();
  auto kept = locks->acquire("kept", lease_of(900ms));
  link.delay(20ms);
  for (const auto until = clock::now() + 3s; clock::now() < until;) locks->acquire("a").release().value();
  EXPECT_TRUE(kept.valid());
  EXPECT_EQ(kept.state(), lock_state::held);
}

TEST_P(redis_exchange, scripts_the_server_has_forgotten_are_told_again) {
  const auto locks = connect();
  for (int round = 0; round < 20; ++round) {
    server.command({"SCRIPT", "FLUSH"});
    auto held = locks->acquire("a");
    server.command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(held.release());
  }
}

TEST_P(redis_exchange, evictions_are_heard_of_during_lone_calls_and_after_them) {
  const auto locks = connect();
  const client admin(server.url(GetParam()));
  for (const bool during : {true, false}) {
    auto kept = locks->acquire("kept", lease_of(60s));
    locks->acquire("a").release().value();
    ASSERT_TRUE(admin.evict("kept", kept.id()));
    const auto until = clock::now() + 10s;  // far less than a third of the lease: it was told, it did not look
    while (kept.state() != lock_state::lost && clock::now() < until)
      during ? locks->acquire("a").release().value() : std::this_thread::sleep_for(1ms);
    EXPECT_EQ(kept.why_lost(), loss_reason::broken) << during;
    static_cast<void>(kept.release());
  }
}

// A holder that waits here hears of its turn from whoever reads, and the one who fetches its own answer must not keep
// that from it.
TEST_P(redis_exchange, a_waiter_of_this_client_is_woken_although_others_read_for_themselves) {
  const auto locks = connect();
  const client other(server.url(GetParam()));
  for (int round = 0; round < 20; ++round) {
    auto held = other.acquire("turn");
    auto waiting = locks->async_acquire("turn", lease_of(20s));
    locks->acquire("a").release().value();
    held.release().value();
    for (const auto until = clock::now() + 10s; !waiting.ready() && clock::now() < until;)
      locks->acquire("a").release().value();
    ASSERT_TRUE(waiting.ready());
    waiting.get().release().value();
  }
}

INSTANTIATE_TEST_SUITE_P(layouts, redis_exchange,
                         ::testing::Values("", "layout=plain", "layout=plain&token=none", "layout=redisson"),
                         [](const auto& one) -> std::string {
                           if (one.param.empty()) return "native";
                           if (one.param == "layout=redisson") return "redisson";
                           return one.param == "layout=plain" ? "plain" : "plain_bare";
                         });

}  // namespace
}  // namespace interlock

#endif
