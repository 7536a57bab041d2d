// SPDX-License-Identifier: MIT
// The rules every client keeps, shown on the memory store with real threads: where user code runs, what fork and
// signals do, what blocks and what does not.
#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <csignal>
#include <fstream>
#include <future>
#include <memory>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using interlock::client;
using interlock::errc;
using interlock::guard;

static_assert(std::is_nothrow_move_constructible_v<guard> && std::is_nothrow_move_assignable_v<guard>);
static_assert(!std::is_copy_constructible_v<guard> && !std::is_convertible_v<guard, bool>);
static_assert(std::is_copy_constructible_v<client>);
template <class M>
concept basic_lockable = requires(M m) {
  m.lock();
  m.unlock();
};
template <class M>
concept timed_lockable = basic_lockable<M> && requires(M m) {
  { m.try_lock() } -> std::same_as<bool>;
  { m.try_lock_for(1ms) } -> std::same_as<bool>;
  { m.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
template <class M>
concept shared_timed_lockable = timed_lockable<M> && requires(M m) {
  m.lock_shared();
  m.unlock_shared();
  { m.try_lock_shared() } -> std::same_as<bool>;
  { m.try_lock_shared_for(1ms) } -> std::same_as<bool>;
  { m.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
static_assert(timed_lockable<interlock::mutex> && timed_lockable<interlock::recursive_mutex>);
static_assert(shared_timed_lockable<interlock::shared_mutex>);

std::string thread_name() {
  char name[16]{};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return name;
}

// A renewal moves the end of the lease away. The lease is long, so that a machine that stands still for a moment does
// not lose the lock.
constexpr interlock::acquire_options renewed_soon{.lease = 2s};
bool is_renewed(const guard& held) {
  auto least = held.remaining();
  for (int i = 0; i < 1000 && least > 0ms; ++i) {
    std::this_thread::sleep_for(10ms);
    const auto now = held.remaining();
    if (now > least + 100ms) return true;
    least = std::min(least, now);
  }
  return false;
}

TEST(engine_rules, callbacks_run_on_the_callback_thread_never_on_the_loop_or_inside_the_call) {
  client locks("memory:");
  std::promise<std::string> where;
  const auto here = std::this_thread::get_id();
  locks.async_acquire("a").then([&](interlock::result<guard> got) {
    EXPECT_TRUE(got);
    EXPECT_NE(std::this_thread::get_id(), here);
    where.set_value(thread_name());
  });
  EXPECT_EQ(where.get_future().get(), "interlock-calls");
}

TEST(engine_rules, resume_on_gets_every_callback) {
  std::atomic<int> posted{0};
  interlock::client_options options;
  options.resume_on = [&](std::function<void()> work) {
    ++posted;
    std::thread(std::move(work)).detach();
  };
  client locks("memory:", options);
  std::promise<void> called;
  locks.async_acquire("a").then([&](interlock::result<guard>) { called.set_value(); });
  called.get_future().get();
  EXPECT_EQ(posted, 1);
}

TEST(engine_rules, a_blocked_callback_does_not_stop_renewals) {
  client locks("memory:");
  std::promise<void> go_on, blocked;
  auto held = locks.acquire("a", renewed_soon);
  locks.async_acquire("b").then([&](interlock::result<guard>) {
    blocked.set_value();
    go_on.get_future().wait();
  });
  blocked.get_future().wait();
  EXPECT_TRUE(is_renewed(held));
  go_on.set_value();
}

TEST(engine_rules, a_blocking_call_on_the_callback_thread_is_refused_instead_of_waiting_for_itself) {
  client locks("memory:");
  auto held = locks.acquire("a");
  std::promise<errc> said;
  locks.async_acquire("b").then([&](interlock::result<guard>) {
    auto reply = locks.attempt("a");
    said.set_value(reply ? errc::internal : reply.error().kind());
  });
  EXPECT_EQ(said.get_future().get(), errc::deadlock);
}

TEST(engine_rules, library_threads_block_all_signals) {
  client locks("memory:");
  std::promise<void> started;
  locks.async_acquire("a").then([&](interlock::result<guard>) { started.set_value(); });
  started.get_future().wait();
  int looked_at = 0;
  for (const char* name : {"interlock-loop", "interlock-calls"}) {
    const auto command =
        "grep -l " + std::string(name) + " /proc/" + std::to_string(::getpid()) + "/task/*/comm | head -1";
    FILE* found = ::popen(command.c_str(), "r");
    char path[256]{};
    if (std::fgets(path, sizeof path, found) == nullptr) path[0] = '\0';
    ::pclose(found);
    const std::string comm(path);
    ASSERT_FALSE(comm.empty()) << name;
    std::ifstream status(comm.substr(0, comm.rfind('/')) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) {
        ++looked_at;
        const auto mask = std::stoull(line.substr(8), nullptr, 16);
        for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD})
          EXPECT_TRUE(mask >> (one - 1) & 1) << name << " " << one;
      }
  }
  EXPECT_EQ(looked_at, 2);
}

TEST(engine_rules, after_fork_the_child_holds_nothing_and_disturbs_nothing) {
  client locks("memory:");
  auto held = locks.acquire("a", renewed_soon);
  const pid_t child = ::fork();
  if (child == 0) {
    int wrong = 0;
    {
      if (held.valid()) wrong |= 1;
      if (held.why_lost() != interlock::loss_reason::forked) wrong |= 2;
      auto reply = locks.attempt("b");
      if (reply || !(reply.error() == errc::closed)) wrong |= 4;
      if (held.release()) wrong |= 8;
      auto gone = std::move(held);  // its destructor must touch nothing
      const auto copy = std::make_unique<client>(locks);
    }
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(is_renewed(held)) << "the parent's renewals go on";
  EXPECT_FALSE(locks.try_acquire("a"));
}

TEST(engine_rules, a_stop_token_ends_a_wait_promptly_and_leaves_nothing) {
  client locks("memory:");
  auto held = locks.acquire("a", {.mode = interlock::lock_mode::shared});
  for (const auto mode : {interlock::lock_mode::exclusive, interlock::lock_mode::shared}) {
    auto writer = locks.async_acquire("a");
    std::stop_source stop;
    std::thread later([&] {
      std::this_thread::sleep_for(50ms);
      stop.request_stop();
    });
    const auto reply = locks.attempt("a", {.mode = mode}, stop.get_token());
    later.join();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), errc::cancelled);
  }
  EXPECT_TRUE(locks.inspect("a").waiters.empty());
}

TEST(engine_rules, a_token_that_was_stopped_before_asks_nothing) {
  client locks("memory:");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(locks.attempt("a", {}, stop.get_token()).error(), errc::cancelled);
  EXPECT_EQ(locks.async_acquire("a", {}, stop.get_token()).get_result().error(), errc::cancelled);
  EXPECT_TRUE(locks.survey().empty());
}

TEST(engine_rules, dropping_a_pending_operation_undoes_it) {
  client locks("memory:");
  auto held = locks.acquire("a");
  { auto waiting = locks.async_acquire("a"); }
  { auto granted = locks.async_acquire("b"); }
  held = {};
  EXPECT_TRUE(locks.try_acquire("a"));
  EXPECT_TRUE(locks.try_acquire("b"));
}

TEST(engine_rules, a_re_entry_whose_outcome_nobody_took_does_not_count) {
  const client locks("memory:");
  const interlock::owner_id me("me");
  auto held = locks.acquire("x", {.owner = me});
  {
    const auto again = locks.async_acquire("x", {.owner = me});
    while (!again.ready()) std::this_thread::yield();
  }
  EXPECT_TRUE(held.valid());
  held.release().value();
  EXPECT_TRUE(locks.try_acquire("x"));
}

TEST(engine_rules, the_last_handle_in_a_callback_closes_cleanly) {
  std::promise<void> done;
  {
    auto locks = std::make_shared<client>("memory:");
    auto* raw = locks.get();
    raw->async_acquire("a").then([locks, &done](interlock::result<guard>) mutable {
      locks.reset();
      done.set_value();
    });
  }
  done.get_future().get();
}

TEST(engine_rules, guards_keep_their_client_alive) {
  guard held;
  {
    client locks("memory:");
    held = locks.acquire("a", renewed_soon);
  }
  EXPECT_TRUE(is_renewed(held));
  EXPECT_TRUE(held.release());
}

TEST(engine_rules, the_observer_hears_of_everything_in_order) {
  std::mutex mutex;
  std::vector<interlock::event_kind> seen;
  interlock::client_options options;
  options.observer = [&](const interlock::event& one) {
    const std::lock_guard lock(mutex);
    seen.push_back(one.kind);
  };
  {
    client locks("memory:", options);
    auto held = locks.acquire("a");
    EXPECT_FALSE(locks.try_acquire("a"));
    EXPECT_TRUE(held.release());
  }
  using kind = interlock::event_kind;
  EXPECT_EQ(seen, (std::vector{kind::acquired, kind::gave_up, kind::released}));
}

TEST(engine_rules, mutexes_work_with_the_standard_wrappers) {
  client locks("memory:");
  interlock::mutex orders(locks, "orders"), stock(locks, "stock");
  {
    std::scoped_lock both(orders, stock);
    EXPECT_TRUE(orders.hold().valid());
    EXPECT_FALSE(locks.try_acquire("stock"));
  }
  std::unique_lock one(orders, 100ms);
  EXPECT_TRUE(one.owns_lock());
  interlock::shared_mutex table(locks, "table");
  {
    std::shared_lock first(table), second(table);
    EXPECT_FALSE(table.try_lock_for(10ms));
  }
  std::unique_lock writer(table);
  EXPECT_FALSE(table.try_lock_shared());
}

TEST(engine_rules, a_recursive_mutex_counts_and_frees_at_zero) {
  client locks("memory:");
  interlock::recursive_mutex deep(locks, "deep");
  deep.lock();
  const auto token = deep.hold().token();
  ASSERT_TRUE(deep.try_lock());
  EXPECT_EQ(deep.depth(), 2u);
  EXPECT_EQ(deep.hold().token(), token);
  std::thread([&] { EXPECT_FALSE(deep.try_lock()); }).join();
  deep.unlock();
  EXPECT_FALSE(locks.try_acquire("deep"));
  deep.unlock();
  EXPECT_EQ(deep.depth(), 0u);
  EXPECT_TRUE(locks.try_acquire("deep"));
}

TEST(engine_rules, many_threads_lose_no_update_and_tokens_only_rise) {
  client locks("memory:");
  int counter = 0;
  std::uint64_t last = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto held = locks.acquire("counter");
        const auto token = held.token().value();
        EXPECT_GT(token, last);
        last = token;
        ++counter;
      }
    });
  for (auto& one : all) one.join();
  EXPECT_EQ(counter, 16'000);
}

TEST(engine_rules, an_attempt_never_waits_behind_others_of_its_own_process) {
  client locks("memory:");
  auto held = locks.acquire("a");
  auto waiting = locks.async_acquire("a");
  EXPECT_FALSE(locks.try_acquire("a"));
  held = {};
  auto next = waiting.get();
  EXPECT_FALSE(locks.try_acquire("a"));
}

TEST(engine_rules, bad_requests_are_refused_before_anything_is_asked) {
  client locks("memory:");
  const auto refused = [&](interlock::acquire_options options) {
    const auto reply = locks.attempt("a", options);
    return !reply && reply.error() == errc::invalid_argument;
  };
  EXPECT_TRUE(refused({.lease = 0ms}));
  EXPECT_TRUE(refused({.lease = -5s}));
  EXPECT_TRUE(refused({.lease = interlock::milliseconds::max()}));
  EXPECT_TRUE(refused({.lease = interlock::milliseconds::min()}));
  EXPECT_TRUE(refused({.lock_delay = -1ms}));
  EXPECT_TRUE(refused({.lock_delay = interlock::milliseconds::max()}));
  EXPECT_TRUE(refused({.max_hold = 0ms}));
  EXPECT_TRUE(refused({.permits = 2}));
  EXPECT_TRUE(refused({.permits = 0}));
  EXPECT_TRUE(refused({.wait = -1ms}));
  EXPECT_TRUE(refused({.wait = interlock::milliseconds::max()}));
  EXPECT_TRUE(refused({.mode = interlock::lock_mode::shared, .owner = interlock::owner_id("x")}));
  interlock::semaphore three(locks, "s", 3);
  EXPECT_EQ(three.attempt({.permits = 4}).error(), errc::invalid_argument);
  EXPECT_THROW(interlock::semaphore(locks, "s", 0), interlock::lock_error);
  EXPECT_TRUE(locks.survey().empty());
}

TEST(engine_rules, connecting_refuses_what_it_cannot_read) {
  for (const char* url : {"nosuch:x", "memory://host", "memory:?colour=red", "memory:?lease=0s", "memory:?lease=fast",
                          "memory:?require=maybe"}) {
    const auto got = client::connect(url);
    ASSERT_FALSE(got) << url;
    EXPECT_EQ(got.error(), errc::invalid_argument) << url << got.error().message();
  }
}

TEST(engine_rules, closing_answers_more_waiters_than_names_are_kept) {
  const client holder("memory:crowd");
  std::vector<guard> held;
  std::vector<interlock::pending<guard>> waiting;
  {
    const client waiter("memory:crowd");
    for (int i = 0; i < 3000; ++i) {
      const auto name = "name/" + std::to_string(i);
      held.push_back(holder.acquire(name));
      waiting.push_back(waiter.async_acquire(name));
    }
    waiter.close();
  }
  for (auto& one : waiting) {
    const auto got = one.get_result();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind(), errc::cancelled);
  }
}

TEST(engine_rules, several_locks_are_all_or_nothing) {
  client locks("memory:");
  auto other = locks.acquire("b");
  const interlock::wanted names[] = {"c", "b", "a", "c"};
  const auto reply = locks.attempt_all(names, {.wait = 50ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::busy);
  EXPECT_EQ(locks.survey().size(), 1u);
  other = {};
  auto all = locks.acquire_all({"c", "b", "a", "c"});
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name(), "c");
  EXPECT_EQ(&all[0], &all[3]);
  EXPECT_EQ(all.at("a").name(), "a");
  EXPECT_TRUE(all.valid());
  EXPECT_TRUE(all.release());
  auto again = locks.async_acquire_all(names).get();
  EXPECT_TRUE(again.valid());
}

TEST(engine_rules, upgrade_waits_for_readers_and_the_second_upgrader_is_told) {
  client one("memory:upgrade"), two("memory:upgrade");
  auto mine = one.acquire("a", {.mode = interlock::lock_mode::shared});
  auto other = two.acquire("a", {.mode = interlock::lock_mode::shared});
  EXPECT_EQ(mine.upgrade().error(), errc::busy);
  auto upgraded = std::async(std::launch::async, [&] { return mine.upgrade(5s); });
  while (two.inspect("a").holders.size() == 2 && upgraded.wait_for(20ms) != std::future_status::ready) {
    const auto told = other.upgrade(1ms);
    ASSERT_FALSE(told);
    if (told.error() == errc::deadlock) break;
  }
  EXPECT_EQ(other.upgrade(1s).error(), errc::deadlock);
  const auto before = mine.token();
  other = {};
  EXPECT_TRUE(upgraded.get());
  EXPECT_EQ(mine.mode(), interlock::lock_mode::exclusive);
  EXPECT_GT(mine.token(), before);
  EXPECT_TRUE(mine.downgrade());
  EXPECT_TRUE(two.try_acquire("a", {.mode = interlock::lock_mode::shared}));
  EXPECT_FALSE(two.try_acquire("a"));
}

struct fire_and_forget {
  struct promise_type {
    fire_and_forget get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

fire_and_forget take_twice(client locks, std::promise<std::uint64_t>& done) {
  std::uint64_t first = 0;
  {
    auto held = co_await locks.async_acquire("a", {.wait = 5s});
    first = held.token().value();
  }
  auto reply = co_await locks.async_acquire("a").as_result();
  done.set_value(reply ? reply->token().value() - first : 0);
}

TEST(engine_rules, coroutines_await_locks) {
  client locks("memory:");
  auto held = locks.acquire("a");
  std::promise<std::uint64_t> done;
  take_twice(locks, done);
  held = {};
  EXPECT_GE(done.get_future().get(), 1u);
}

}  // namespace
