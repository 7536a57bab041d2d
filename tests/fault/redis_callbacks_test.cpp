// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_nodes.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

/// Callbacks ask for more, and their thread sends that and reads the answers itself. User code may do as it likes
/// there all the same.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;

/// On one server, or on five of which three must agree.
struct redis_callbacks : ::testing::TestWithParam<std::string> {
  test_support::redis_nodes servers{GetParam() == "one_server" ? 1U : 5U};
  client locks{url()};
  client others{url()};

  [[nodiscard]] std::string url() {
    if (GetParam() == "one_server") return servers[0].url();
    return servers.url(GetParam() == "majority" ? "" : "token=none");
  }

  [[nodiscard]] bool is_held(const std::string& name) const { return !others.inspect(name).holders.empty(); }
  [[nodiscard]] std::size_t waiters(const std::string& name) const { return others.inspect(name).waiters.size(); }
};

TEST_P(redis_callbacks, what_a_callback_asked_for_is_sent_while_it_goes_on_working) {
  std::promise<void> seen;
  std::optional<pending<guard>> second;
  std::promise<bool> worked;
  locks.async_acquire("first").then([&](const result<guard>&) {
    second.emplace(locks.async_acquire("second"));
    worked.set_value(seen.get_future().wait_for(30s) == std::future_status::ready);
  });
  EXPECT_TRUE(eventually([&] { return is_held("second"); }, 20s));
  seen.set_value();
  EXPECT_TRUE(worked.get_future().get());
  EXPECT_TRUE(second->get().valid());
}

// After a while of callbacks that ask for more, their thread is trusted to come back and send what they left.
TEST_P(redis_callbacks, what_the_last_of_many_callbacks_asked_for_is_sent_while_it_goes_on_working) {
  const auto busy_until = std::chrono::steady_clock::now() + 100ms;
  std::promise<void> seen, over;
  std::optional<pending<guard>> last;
  int round = 0;
  std::function<void()> again = [&] {
    locks.async_acquire("busy/" + std::to_string(++round)).then([&](const result<guard>& got) {
      EXPECT_TRUE(got.has_value());
      if (std::chrono::steady_clock::now() < busy_until) return again();
      last.emplace(locks.async_acquire("last"));
      seen.get_future().wait_for(30s);
      over.set_value();
    });
  };
  again();
  EXPECT_TRUE(eventually([&] { return is_held("last"); }, 20s));
  seen.set_value();
  over.get_future().get();
  EXPECT_TRUE(last->get().valid());
}

TEST_P(redis_callbacks, a_release_in_a_callback_is_sent_while_it_goes_on_working) {
  std::promise<void> seen, asked, over;
  std::optional<pending<void>> release;
  locks.async_acquire("first").then([&](result<guard> got) {
    release.emplace(got.value().async_release());
    asked.set_value();
    seen.get_future().wait_for(30s);
    over.set_value();
  });
  asked.get_future().get();
  EXPECT_TRUE(eventually([&] { return others.try_acquire("first", {.wait = 0ms}).has_value(); }, 20s));
  seen.set_value();
  over.get_future().get();
  release->get();
}

TEST_P(redis_callbacks, a_guard_that_ends_in_a_callback_is_released_while_that_goes_on_working) {
  std::promise<void> seen, ended, over;
  locks.async_acquire("first").then([&](result<guard> got) {
    { const auto held = std::move(got.value()); }
    ended.set_value();
    seen.get_future().wait_for(30s);
    over.set_value();
  });
  ended.get_future().get();
  EXPECT_TRUE(eventually([&] { return others.try_acquire("first", {.wait = 0ms}).has_value(); }, 20s));
  seen.set_value();
  over.get_future().get();
}

TEST_P(redis_callbacks, a_wait_given_up_in_a_callback_leaves_the_queue_though_nobody_waits_for_anything) {
  const auto elsewhere = others.acquire("taken");
  std::optional<pending<guard>> waiting(locks.async_acquire("taken"));
  ASSERT_TRUE(eventually([&] { return waiters("taken") == 1; }));
  std::promise<void> given_up;
  locks.async_acquire("free").then([&](const result<guard>&) {
    waiting.reset();
    given_up.set_value();
  });
  EXPECT_TRUE(eventually([&] { return waiters("taken") == 0; }));
  given_up.get_future().get();
}

TEST_P(redis_callbacks, a_blocking_call_beside_busy_callbacks_is_answered) {
  std::atomic<bool> over{false};
  std::atomic<int> pairs{0};
  std::promise<void> ended;
  struct again {
    redis_callbacks& with;
    std::atomic<bool>& over;
    std::atomic<int>& pairs;
    std::promise<void>& ended;
    void operator()() const {
      with.locks.async_acquire("busy").then([self = *this](result<guard> got) {
        got.value().async_release().then([self](const result<void>&) {
          ++self.pairs;
          if (self.over) return self.ended.set_value();
          self();
        });
      });
    }
  };
  again{*this, over, pairs, ended}();
  for (int i = 0; i < 300; ++i) locks.acquire("blocking").release().value();
  EXPECT_TRUE(eventually([&] { return pairs > 10; }));
  over = true;
  EXPECT_EQ(ended.get_future().wait_for(30s), std::future_status::ready);
}

TEST_P(redis_callbacks, requests_of_a_callback_take_effect_in_the_order_they_were_made) {
  std::promise<int> wrong;
  locks.async_acquire("trigger").then([&](const result<guard>&) {
    struct round {
      client from;
      std::promise<int>& wrong;
      void operator()(int left) const {
        auto first = from.async_acquire("x");
        first.then([self = *this, left](result<guard> got) {
          if (!got) return self.wrong.set_value(left);
          { const guard ends(std::move(*got)); }  // sent at once, or left to be sent
          self.from.async_try_acquire("x").then([self, left](result<std::optional<guard>> next) {
            if (!next || !*next) return self.wrong.set_value(left);
            if (left == 0) return self.wrong.set_value(0);
            (**next).async_release().then([self, left](const result<void>&) { self(left - 1); });
          });
        });
      }
    };
    round{locks, wrong}(200);
  });
  EXPECT_EQ(wrong.get_future().get(), 0);
}

INSTANTIATE_TEST_SUITE_P(, redis_callbacks, ::testing::Values("one_server", "majority", "majority_without_tokens"),
                         [](const ::testing::TestParamInfo<std::string>& which) { return which.param; });

}  // namespace
}  // namespace interlock

#endif
