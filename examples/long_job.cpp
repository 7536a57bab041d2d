// SPDX-License-Identifier: MIT
//
// A long job that stops when it loses its lock. The lease is renewed in the background for as long as the job runs; if
// that ends (the store is away for too long, the host slept, somebody took the lock away), the job is told.
//
//   ./long_job                          the store in memory
//   ./long_job sqlite:/tmp/locks.db     a file; watch it from another terminal: interlock ls --store sqlite:...
//
// Two ways to notice, both shown: held.lost(), a std::stop_token for whatever can be interrupted, and
// held.throw_if_lost(), one line at the top of each step.

#include <interlock/interlock.hpp>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;

static void nap(std::stop_token until) {
  std::mutex alone;
  std::unique_lock lock{alone};
  std::condition_variable_any{}.wait_for(lock, until, 20ms, [] { return false; });
}

/// Works until it is done, or throws lock_error(lost). Counts the steps it finished.
static void rebuild_index(const interlock::guard& held, int& steps) {
  for (; steps < 1000; ++steps) {
    held.throw_if_lost();
    nap(held.lost());
  }
}

int main(int argc, char** argv) try {
  const std::string store = argc > 1 ? argv[1] : "memory:long-job";
  const interlock::client locks{store};
  const auto held = locks.acquire("index/rebuild", {.lease = 10s});
  const auto told = held.on_change([](interlock::lock_state now) { std::cout << "now: " << to_string(now) << '\n'; });

  std::jthread administrator{[&] {
    std::this_thread::sleep_for(300ms);
    const interlock::client admin{store};
    for (const auto& holder : admin.inspect("index/rebuild").holders)
      if (admin.evict("index/rebuild", holder.id)) std::cout << "administrator: I took the lock away\n";
  }};

  int steps = 0;
  try {
    rebuild_index(held, steps);
  } catch (const interlock::lock_error& why) {
    std::cout << "job: stopped after " << steps << " steps: " << why.what() << '\n';
    const bool in_time = steps > 0 && steps < 1000;
    return why.why() == interlock::errc::lost && held.why_lost() == interlock::loss_reason::broken && in_time ? 0 : 1;
  }
  return 1;  // it should not have got through
} catch (const std::exception& why) {
  std::cerr << why.what() << '\n';
  return 1;
}
