// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <array>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <future>
#include <mutex>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(coroutines);

namespace {

/// A coroutine that starts at once and whose result a plain thread can wait for.
template <class T>
struct task {
  struct promise_type {
    std::promise<T> done;
    task get_return_object() { return {done.get_future()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(T value) { done.set_value(std::move(value)); }
    void unhandled_exception() { done.set_exception(std::current_exception()); }
  };
  std::future<T> result;
};

task<bool> hold_twice(client locks) {
  auto first = co_await locks.async_acquire("orders/42", {.wait = 20s});
  const bool held_first = first.valid();
  co_await first.async_release();
  auto second = co_await locks.async_acquire("orders/42", {.wait = 20s});
  if (locks.traits().tokens) {
    EXPECT_GT(second.token(), first.token());
  }
  co_return held_first&& second.valid();
}

task<errc> try_it(client locks, std::string name) {
  auto reply = co_await locks.async_acquire(name, {.wait = 0ms}).as_result();
  co_return reply ? errc{} : reply.error().kind();
}

task<bool> try_optional(client locks, std::string name) {
  auto held = co_await locks.async_try_acquire(name);
  co_return held.has_value();
}

/// A thread that runs what it is given. Its executor may be called after it has gone; nothing is run then.
class runner {
 public:
  executor as_executor() {
    return [to = state_](std::function<void()> work) {
      const std::lock_guard held(to->mutex);
      to->todo.push_back(std::move(work));
      to->news.notify_all();
    };
  }
  std::thread::id id() const { return thread_.get_id(); }
  ~runner() {
    const std::lock_guard held(state_->mutex);
    state_->stop = true;
    state_->news.notify_all();
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable news;
    std::deque<std::function<void()>> todo;
    bool stop = false;

    void run() {
      std::unique_lock held(mutex);
      for (;;) {
        news.wait(held, [&] { return stop || !todo.empty(); });
        if (todo.empty()) return;
        auto work = std::move(todo.front());
        todo.pop_front();
        held.unlock();
        work();
        work = nullptr;
        held.lock();
      }
    }
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
  std::jthread thread_{[to = state_] { to->run(); }};
};

}  // namespace

TEST_P(coroutines, a_coroutine_holds_releases_and_holds_again) {
  auto done = hold_twice(store->connect());
  EXPECT_TRUE(done.result.get());
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(coroutines, many_coroutines_on_one_name_take_turns) {
  const auto locks = store->connect();
  std::vector<task<bool>> all;
  for (int i = 0; i < 10; ++i) all.push_back(hold_twice(locks));
  for (auto& one : all) EXPECT_NO_THROW(one.result.get());
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(coroutines, busy_is_a_result_or_an_exception_as_the_caller_likes) {
  const auto held = store->connect().acquire("orders/42");
  const auto locks = store->connect();
  EXPECT_EQ(try_it(locks, "orders/42").result.get(), errc::busy);
  EXPECT_FALSE(try_optional(locks, "orders/42").result.get());
  EXPECT_TRUE(try_optional(locks, "orders/43").result.get());
  auto thrown = [](client from) -> task<int> {
    auto never = co_await from.async_acquire("orders/42", {.wait = 0ms});
    co_return never.valid() ? 1 : 0;
  }(locks);
  EXPECT_THROW(thrown.result.get(), lock_error);
}

TEST_P(coroutines, callbacks_and_futures_get_the_outcome_too) {
  const auto locks = store->connect();
  // Owned by the callback too: get() may return while set_value() is still at it.
  const auto called = std::make_shared<std::promise<bool>>();
  locks.async_acquire("orders/42").then([called](result<guard> got) { called->set_value(got && got->valid()); });
  EXPECT_TRUE(called->get_future().get());
  EXPECT_TRUE(becomes_free("orders/42"));
  EXPECT_TRUE(locks.async_acquire("orders/42").to_future().get().valid());
}

TEST_P(coroutines, callbacks_run_where_the_client_was_told_to_run_them) {
  runner place;
  {
    const auto locks = store->connect({.resume_on = place.as_executor()});
    const auto where = std::make_shared<std::promise<std::thread::id>>();
    locks.async_acquire("orders/42").then([where](result<guard>) { where->set_value(std::this_thread::get_id()); });
    EXPECT_EQ(where->get_future().get(), place.id());
  }
}

TEST_P(coroutines, a_callback_may_use_the_client_but_not_block_on_it) {
  const auto first = store->connect(), second = store->connect();
  const auto held = first.acquire("orders/43");
  const auto said = std::make_shared<std::promise<errc>>();
  second.async_acquire("orders/42").then([said, second](result<guard>) {
    auto wait = second.async_acquire("orders/43");
    said->set_value(wait.get_result().error().kind());
  });
  EXPECT_EQ(said->get_future().get(), errc::deadlock);
}

TEST_P(coroutines, several_names_can_be_awaited) {
  const auto locks = store->connect();
  auto done = [](client from) -> task<std::size_t> {
    const std::array<wanted, 2> names{"b", "a"};
    auto both = co_await from.async_acquire_all(names, {.wait = 20s});
    co_return both.valid() ? both.size() : 0;
  }(locks);
  EXPECT_EQ(done.result.get(), 2U);
}

TEST_P(coroutines, a_permit_can_be_awaited) {
  INTERLOCK_NEEDS(permits);
  auto done = [](semaphore gate) -> task<bool> {
    auto held = co_await gate.async_acquire({.permits = 2, .wait = 20s});
    co_return held.valid();
  }(semaphore(store->connect(), "gate", 2));
  EXPECT_TRUE(done.result.get());
}

}  // namespace interlock::inline v1::testing
