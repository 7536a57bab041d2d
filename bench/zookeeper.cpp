// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "crowd.hpp"
#include "raw_zookeeper.hpp"
#include "typical.hpp"
#include "zookeeper_server.hpp"

#include <interlock/client.hpp>

#include <algorithm>
#include <cmath>
#include <list>
#include <vector>

namespace bench {
namespace {

constexpr double warm_for = 4;  // seconds: the server is compiled while it runs
constexpr double most_requests = 4;

void warm(const interlock::client& locks, double seconds) {
  for (const double end = now() + seconds; now() < end;) locks.acquire("warm").release().value();
}

/// What the server was asked for each change of holder.
void count_requests(zookeeper_server& server, const std::string& which, const std::string& what, std::size_t waiters,
                    const crowd::asking& ask, double seconds, report& out) {
  crowd all(waiters, ask);
  sleep_for(seconds);
  const auto passed = static_cast<double>(all.changes().load());
  const double asked = server.requests();
  sleep_for(2 * seconds);
  const double requests = server.requests() - asked, times = static_cast<double>(all.changes().load()) - passed;
  all.end();
  static_cast<void>(all.served());
  out.add({.name = "zookeeper-handoff/" + which,
           .what = "requests to the server per hand-off, " + what,
           .value = requests / times,
           .bar = most_requests,
           .note = show_number(times / (2 * seconds)) + " hand-offs a second"});
}

}  // namespace

void zookeeper_pair(const settings& with, report& out) {
  if (const auto why = why_no_zookeeper(); !why.empty()) return out.skip("zookeeper-pair", why);
  const zookeeper_server server;
  const interlock::client locks(server.url());
  warm(locks, warm_for);
  raw_zookeeper raw(server.port(), "/floor");
  auto longer =
      with;  // a virtual machine takes its time to become even: of five rounds the median still moves by a tenth
  longer.rounds = std::max(with.rounds, 9);
  out.add(compare(
              longer, [&] { return typical(with.seconds, [&] { raw.pair(); }); },
              [&] { return typical(with.seconds, [&] { locks.acquire("orders/42").release().value(); }); })
              .against(1.15, {.name = "zookeeper-pair",
                              .what = "acquire + release, p50, against create and list in one write, then delete",
                              .note = "the server's log is in memory"}));
}

void zookeeper_handoff(const settings& with, report& out) {
  if (const auto why = why_no_zookeeper(); !why.empty()) return out.skip("zookeeper-handoff", why);
  zookeeper_server server;
  const interlock::client locks(server.url());
  warm(locks, warm_for / 2);
  for (const std::size_t waiters : {8, 512})
    count_requests(
        server, std::to_string(waiters), "waiters of one process that queue again and again", waiters,
        [&](std::size_t) { return locks.async_acquire("passed"); }, with.seconds, out);
  std::vector<interlock::client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(server.url());
  count_requests(
      server, "clients", "8 clients that queue again and again, one waiter each", clients.size(),
      [&](std::size_t who) { return clients[who].async_acquire("passed"); }, with.seconds, out);
}

void zookeeper_idle(const settings& with, report& out) {
  if (const auto why = why_no_zookeeper(); !why.empty()) return out.skip("zookeeper-idle", why);
  constexpr int names = 10, waiters = 100;
  constexpr double session = 31;  // a lease of 30 s, and a second
  const double window = std::max(12.0, 5 * with.seconds);
  zookeeper_server server;
  const interlock::client locks(server.url());
  warm(locks, 0.1);
  std::list<raw_zookeeper> held;  // by somebody who says nothing meanwhile
  std::vector<interlock::pending<interlock::guard>> waiting;
  for (int i = 0; i < names; ++i) held.emplace_back(server.port(), "/locks/idle-" + std::to_string(i)).hold();
  for (int i = 0; i < waiters; ++i) waiting.push_back(locks.async_acquire("idle-" + std::to_string(i % names)));
  sleep_for(1);  // the last one has queued by then, and watches
  const double start = server.requests();
  sleep_for(window);
  out.add({.name = "zookeeper-idle",
           .what = "requests of a process with 100 waiters on 10 names that another one holds",
           .value = server.requests() - start,
           .bar = std::floor(window / (session / 3)) + 1,
           .note = show_number(window) + " s; one ping per third of the session"});
}

}  // namespace bench
