// SPDX-License-Identifier: MIT
//
// Waiting for locks without a thread for each: three hundred coroutines take turns on one lock.
//
//   ./coroutine                          the store in memory
//   ./coroutine sqlite:/tmp/locks.db     a file
//
// co_await gives the guard, or throws lock_error. Coroutines go on where client_options::resume_on says; here on the
// client's own callback thread.

#include <interlock/interlock.hpp>

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <latch>

using namespace std::chrono_literals;

/// The smallest coroutine there is: runs by itself, nobody waits for its result.
struct errand {
  struct promise_type {
    errand get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct ledger {
  int entries = 0;  // a plain number: only the lock protects it
  int refused = 0;
};

static errand book(const interlock::client& locks, ledger& into, std::latch& all) {
  try {
    auto held = co_await locks.async_acquire("ledger", {.wait = 4s});
    const int seen = into.entries;
    auto page = co_await locks.async_acquire("page");  // others run meanwhile; none of them gets past "ledger"
    into.entries = seen + 1;
    co_await page.async_release();
    co_await held.async_release();
  } catch (const interlock::lock_error& why) {
    std::fprintf(stderr, "%s\n", why.what());
    ++into.refused;
  }
  all.count_down();
}

int main(int argc, char** argv) try {
  constexpr int errands = 300;
  const interlock::client locks{argc > 1 ? argv[1] : "memory:"};
  ledger into;
  std::latch all{errands};
  for (int i = 0; i < errands; ++i) book(locks, into, all);
  all.wait();
  std::printf("%d entries by %d coroutines\n", into.entries, errands);
  return into.entries == errands && into.refused == 0 ? 0 : 1;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
