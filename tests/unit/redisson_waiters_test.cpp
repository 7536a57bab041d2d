// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/redis/redisson_waiters.hpp"

#include "core/random.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

/// The order of messages, subscriptions and answers that no server can be made to produce on demand.
namespace interlock::inline v1::redis_store::redisson {
namespace {

/// Keeps what it is asked to do.
class notebook final : public courier {
 public:
  result<void> open() override { return {}; }
  void deliver_to(redis_store::layout&) noexcept override {}
  void send(const packet&, inline_work, reply_handler&&) override {}
  [[nodiscard]] std::size_t masters() const override { return 1; }
  void send_to(std::size_t, const packet&, reply_handler) override {}
  void subscribe(std::string_view channel, reply_handler done) override {
    subscribed.emplace_back(channel);
    confirm = std::move(done);
  }
  void unsubscribe(std::string_view channel) override { unsubscribed.emplace_back(channel); }
  [[nodiscard]] server_facts facts() const override { return {}; }
  [[nodiscard]] int borrow_news() noexcept override { return -1; }
  [[nodiscard]] bool read_news() noexcept override { return false; }
  void return_news(backend::loan_end) noexcept override {}
  void close() noexcept override {}

  std::vector<std::string> subscribed, unsubscribed;
  reply_handler confirm;
};

class hints final : public backend_events {
 public:
  void granted(const claim_secret&, const standing&) noexcept override {}
  void look_again(const claim_secret& who) noexcept override { told.push_back(who); }
  void evicted(const claim_secret&) noexcept override {}
  void link(bool) noexcept override {}
  void another_server() noexcept override {}

  std::vector<claim_secret> told;
};

class redisson_waiters : public ::testing::Test {
 protected:
  redisson_waiters() : line(way, events), one(random.secret()), two(random.secret()), three(random.secret()) {}
  using list = std::vector<claim_secret>;
  /// Whoever was told to look since the last time.
  list told() { return std::exchange(events.told, {}); }
  void wait(const claim_secret& who) { line.wait("c", who, line.heard("c"), false); }
  /// All three wait, and their subscription is confirmed.
  void all_wait() {
    for (const auto& who : {one, two, three}) wait(who);
    way.confirm(reply{});
    for (const auto& who : {one, two, three}) wait(who);
    told();
  }

  core::kernel_random random;
  notebook way;
  hints events;
  waiters line;
  claim_secret one, two, three;
};

TEST_F(redisson_waiters, the_first_subscribes_and_looks_again_when_that_is_confirmed) {
  wait(one);
  EXPECT_EQ(way.subscribed, std::vector<std::string>{"c"});
  EXPECT_EQ(told(), list{});
  wait(two);
  EXPECT_EQ(way.subscribed.size(), 1U);
  way.confirm(reply{});
  EXPECT_EQ(told(), (list{one, two}));
}

TEST_F(redisson_waiters, the_last_unsubscribes) {
  all_wait();
  line.stop("c", one, true);
  line.stop("c", two, false);
  EXPECT_TRUE(way.unsubscribed.empty());
  line.stop("c", three, false);
  EXPECT_EQ(way.unsubscribed, std::vector<std::string>{"c"});
  line.stop("c", three, false);
  EXPECT_EQ(way.unsubscribed.size(), 1U);
}

TEST_F(redisson_waiters, a_0_is_for_one_and_a_1_for_all) {
  all_wait();
  line.message("c", "0");
  EXPECT_EQ(told(), list{one});
  line.message("c", "0");
  EXPECT_EQ(told(), list{two});
  wait(one);
  wait(two);
  told();
  line.message("c", "1");
  EXPECT_EQ(told(), (list{one, two, three}));
  line.message("another", "1");
  EXPECT_EQ(told(), list{});
}

TEST_F(redisson_waiters, permits_are_for_as_many_as_there_are) {
  all_wait();
  line.permits("c", "2");
  EXPECT_EQ(told(), (list{one, two}));
  wait(one);
  wait(two);
  told();
  line.permits("c", "no number");
  EXPECT_EQ(told(), (list{one, two, three}));
}

TEST_F(redisson_waiters, a_message_between_question_and_answer_is_not_lost) {
  all_wait();
  const auto asked = line.heard("c");
  line.message("c", "1");
  told();  // the engine drops hints while a question is under way
  line.wait("c", two, asked, false);
  EXPECT_EQ(told(), list{two});
}

TEST_F(redisson_waiters, who_was_told_and_leaves_passes_it_on) {
  all_wait();
  line.message("c", "0");
  ASSERT_EQ(told(), list{one});
  line.stop("c", one, false);
  EXPECT_EQ(told(), list{two});
  line.stop("c", two, true);
  EXPECT_EQ(told(), list{}) << "it has what it was told of";
}

TEST_F(redisson_waiters, what_one_cannot_use_is_offered_to_those_behind_it) {
  all_wait();
  line.permits("c", "1");
  ASSERT_EQ(told(), list{one});
  line.wait("c", one, line.heard("c"), true);
  EXPECT_EQ(told(), list{two});
  line.wait("c", two, line.heard("c"), true);
  EXPECT_EQ(told(), list{three});
  line.wait("c", three, line.heard("c"), true);
  EXPECT_EQ(told(), list{}) << "once round, not for ever";
}

TEST_F(redisson_waiters, when_all_were_told_and_none_came_back_they_are_told_again) {
  all_wait();
  line.message("c", "1");
  ASSERT_EQ(told().size(), 3U);
  line.message("c", "0");
  EXPECT_EQ(told(), list{one});
}

}  // namespace
}  // namespace interlock::inline v1::redis_store::redisson

#endif
