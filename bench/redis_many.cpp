// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "heap.hpp"
#include "raw_redis.hpp"
#include "redis_requests.hpp"
#include "redis_server.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Both sides have work all the time, so each may get its own core: what limits them is processor time. That is so only
/// where waking the other core takes less than a turn's work; on a crowded host it does not, hence the same on one
/// core.
namespace bench {
namespace {

/// The same requests, pipelined on one socket: a reply makes the next request of its lock, and what has come together
/// is sent together.
double pipelined(raw_redis& server, const std::vector<pair_of_requests>& locks, double seconds) {
  struct state {
    const pair_of_requests* requests;
    bool held;
  };
  std::deque<state> under_way;
  std::string out;
  const auto ask = [&](state one) {
    out += one.held ? one.requests->release : one.requests->acquire;
    under_way.push_back(one);
  };
  for (const auto& one : locks) ask({&one, false});
  std::uint64_t pairs = 0;
  const double begin = now();
  for (const double end = begin + seconds; !under_way.empty();) {
    server.send(out);
    out.clear();
    const bool over = now() > end;
    do {
      server.receive();
      const auto one = under_way.front();
      under_way.pop_front();
      pairs += one.held;
      if (!one.held || !over) ask({one.requests, !one.held});
    } while (server.more_is_here());
  }
  return (now() - begin) / static_cast<double>(pairs);
}

void compare_with_pipeline(const redis_server& server, const settings& with, report& out, double bar,
                           const std::string& where) {
  const auto requests = requests_for(server.port(), numbered("floor", many_locks));
  raw_redis raw(server.port());
  const interlock::client locks(server.url());
  out.add(compare(
              with, [&] { return pipelined(raw, requests, with.seconds); },
              [&] { return busy_pace(locks, many_locks, with.seconds); })
              .against(bar, {.name = "redis-many/" + where,
                             .what = "time per pair, 64 locks at once, against the same requests pipelined"}));
}

/// Processor time of this process per pair when nothing but the socket is used: the kernel's part, mostly.
double processor_time_of_pipeline(raw_redis& raw, const std::vector<pair_of_requests>& requests, double seconds) {
  const double before = processor_time();
  const double begin = now();
  const double each = pipelined(raw, requests, seconds);
  return (processor_time() - before) * each / (now() - begin);
}

struct use {
  double processor, allocations;  // per pair
};
use use_of(const interlock::client& locks, releases how, double seconds) {
  busy_locks all(locks, numbered("many", many_locks), how);
  sleep_for(seconds / 4);  // until it has all the memory it needs
  const auto pairs_before = all.pairs().load();
  const double worked_before = processor_time();
  const heap_watch watch;
  sleep_for(seconds);
  const auto pairs = static_cast<double>(all.pairs().load() - pairs_before);
  const use out{(processor_time() - worked_before) / pairs, static_cast<double>(watch.allocations()) / pairs};
  all.finish();
  return out;
}

void measure_use(const redis_server& server, const settings& with, report& out, releases how, const std::string& where,
                 std::optional<double> bar) {
  const auto requests = requests_for(server.port(), numbered("floor", many_locks));
  raw_redis raw(server.port());
  const interlock::client locks(server.url());
  std::vector<double> allocations;
  auto longer = with;
  longer.rounds = std::max(with.rounds, 9);  // no ratio: it takes a quiet moment of the host to see what is ours
  const auto sides = compare(
      longer, [&] { return processor_time_of_pipeline(raw, requests, with.seconds); },
      [&] {
        const auto got = use_of(locks, how, with.seconds);
        allocations.push_back(got.allocations);
        return got.processor;
      });
  out.add({.name = "redis-many/allocations" + where,
           .what = "heap allocations per pair, 64 locks at once",
           .value = median(std::move(allocations)),
           .bar = 0.0});
  out.add(sides.of_candidate({.name = "redis-many/processor" + where,
                              .what = "processor time of this process per pair, 64 locks at once",
                              .bar = bar}));
}

}  // namespace

void redis_many(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-many", why);
  {
    const redis_server server(with.folder);
    compare_with_pipeline(server, with, out, 0, "one-core");
    measure_use(server, with, out, releases::awaited, "", 2);
    measure_use(server, with, out, releases::detached, "-detached", 2);
  }
  const on_core mine(client_core);
  const redis_server server(with.folder, server_core);
  compare_with_pipeline(server, with, out, 1 / 0.85, "two-cores");
  measure_use(server, with, out, releases::awaited, "-two-cores", {});  // waking the other core is most of it
}

}  // namespace bench
