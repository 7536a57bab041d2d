// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "machine.hpp"
#include "processes.hpp"

#include <interlock/client.hpp>

#include <cmath>
#include <vector>

#if INTERLOCK_WITH_SQLITE
#include "raw_sqlite.hpp"
#endif

namespace bench {

#if INTERLOCK_WITH_SQLITE
namespace {

constexpr int names = 10, waiters = 100;
constexpr double lease = 30, wait_lease = 10;  // defaults: seconds until the store would end a hold, or a wait

std::string name_of(int i) { return "orders/" + std::to_string(i % names); }

void wait_for_the_end(shared_facts& facts) {
  facts.ready.fetch_add(1);
  while (!facts.over.load()) sleep_for(0.05);
}

void hold(const std::string& url, shared_facts& facts) {
  const interlock::client locks(url);
  std::vector<interlock::guard> held;
  for (int i = 0; i < names; ++i) held.push_back(locks.acquire(name_of(i)));
  wait_for_the_end(facts);
}

void queue(const std::string& url, shared_facts& facts) {
  const interlock::client locks(url);
  std::vector<interlock::pending<interlock::guard>> waiting;
  waiting.reserve(waiters);
  for (int i = 0; i < waiters; ++i) waiting.push_back(locks.async_acquire(name_of(i)));
  wait_for_the_end(facts);
}

}  // namespace

void idle_waiters(const settings& with, report& out) {
  const scratch_folder folder(with.folder);
  const auto file = folder.file("locks.db"), url = "sqlite:" + file;
  const double window = 5 * with.seconds;
  processes both;
  both.start([&](shared_facts& facts) { hold(url, facts); });
  both.wait_until_ready();
  const auto waiter = both.start([&](shared_facts& facts) { queue(url, facts); });
  both.wait_until_ready();
  sleep_for(0.5);  // the last one has queued by then

  const auto commits_before = commits_of(file);
  const auto sleeps_before = sleeps_of(waiter);
  sleep_for(window);
  const auto commits = commits_of(file) - commits_before;
  // Our own children look at the clock twenty times a second; what is beyond that is the library.
  const double sleeps = double(sleeps_of(waiter) - sleeps_before) - window * 20;
  both.finish();

  const double looks_of_waiter = std::floor(window / (wait_lease / 3)) + 1,
               looks_of_holder = std::floor(window / (lease / 3)) + 1;
  out.add({.name = "idle-waiters/commits",
           .what = "write transactions while 100 waiters of one process idle on 10 names that another one holds",
           .value = double(commits),
           .bar = looks_of_waiter + looks_of_holder,
           .note = show_number(window) + " s; one batched look per process and third of a lease"});
  out.add({.name = "idle-waiters/wakes",
           .what = "times a thread of the waiting process went back to sleep",
           .unit = " /s",
           .value = std::max(0.0, sleeps) / window});
}
#else
void idle_waiters(const settings&, report& out) { out.skip("idle-waiters", no_sqlite); }
#endif

}  // namespace bench
