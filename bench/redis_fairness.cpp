// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "crowd.hpp"
#include "machine.hpp"
#include "redis_server.hpp"

#include <interlock/semaphore.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace bench {
namespace {

constexpr int crowd_size = 512;

void measure_crowd(const std::string& which, const std::string& what, const crowd::asking& ask, double seconds,
                   report& out) {
  crowd all(crowd_size, ask);
  sleep_for(seconds);
  all.end();
  const auto& served = all.served();
  const auto sum = std::accumulate(served.begin(), served.end(), std::uint64_t{0});
  const auto [least, most] = std::ranges::minmax(served);
  out.add(
      {.name = "redis-fairness/" + which,
       .what = "the largest share of 512 waiters that queue again and again, against an equal one; " + what,
       .unit = "x",
       .value = static_cast<double>(most) * crowd_size / static_cast<double>(sum),
       .bar = 1.2,
       .note = std::to_string(sum) + " grants, each waiter " + std::to_string(least) + " to " + std::to_string(most)});
  out.add({.name = "redis-fairness/" + which + "-unserved",
           .what = "waiters that were never served",
           .value = static_cast<double>(std::ranges::count(served, 0U)),
           .bar = 0.0});
}

}  // namespace

void redis_fairness(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-fairness", why);
  const redis_server server(with.folder);
  const double seconds = 5 * with.seconds;
  {
    const interlock::client locks(server.url());
    const interlock::semaphore gate(locks, "crowd", 1);
    measure_crowd(
        "server", "all in the server's queue", [&](std::size_t) { return gate.async_acquire(); }, seconds, out);
  }
  std::vector<interlock::client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(server.url());
  measure_crowd(
      "clients", "64 of each of 8 clients, which pass the lock on among theirs",
      [&](std::size_t who) { return clients[who % clients.size()].async_acquire("crowd/lock"); }, seconds, out);
}

}  // namespace bench
