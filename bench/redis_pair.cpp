// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "raw_redis.hpp"
#include "redis_requests.hpp"
#include "redis_server.hpp"
#include "tapped_link.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#include <cmath>

namespace bench {
namespace {

constexpr double redis_delay = 0.0005;  // there, and the same back

void awaited_pair(const interlock::client& locks) { locks.acquire(one_name).release().value(); }
void detached_pair(const interlock::client& locks) { const auto held = locks.acquire(one_name); }

/// The floor sends the requests as they are, and waits for each answer.
comparison pairs(const settings& with, raw_redis& server, const std::vector<std::string>& requests,
                 const interlock::client& locks) {
  return compare_closely(
      with,
      [&] {
        for (const auto& one : requests) server.call(one);
      },
      [&] { awaited_pair(locks); });
}

/// The same, by the program that the bars were set with: it reads each answer into 64 KiB that it has cleared.
comparison baseline_pairs(const settings& with, raw_redis& server, const std::vector<std::string>& requests,
                          const interlock::client& locks) {
  return compare_closely(
      with,
      [&] {
        for (const auto& one : requests) {
          server.send(one);
          server.renew_room();
          server.receive();
        }
      },
      [&] { awaited_pair(locks); });
}

void plain_pair(const redis_server& server, const settings& with, report& out) {
  raw_redis raw(server.port());
  const auto release =
      raw.load("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0");
  const std::string owner(32, 'x');
  const std::vector<std::string> floor{command({"SET", "floor", owner, "NX", "PX", "30000"}),
                                       command({"EVALSHA", release, "1", "floor", owner})};
  const auto locks = interlock::client::connect(server.url("layout=plain&token=none"));
  if (!locks) return out.skip("redis-pair/plain", locks.error().message());
  out.add(
      pairs(with, raw, floor, *locks)
          .against(1.1, {.name = "redis-pair/plain",
                         .what = "acquire + release, layout=plain, p50, against SET NX PX and a script that compares "
                                 "and deletes"}));
  out.add(baseline_pairs(with, raw, floor, *locks)
              .against(1.1, {.name = "redis-pair/plain-baseline",
                             .what = "the same, against the program that the bar was set with, which clears 64 KiB "
                                     "before each answer"}));
}

void native_pair(const redis_server& server, const settings& with, report& out) {
  raw_redis raw(server.port());
  const auto pair = requests_for(server.port(), {"floor"}).front();
  const std::vector<std::string> floor{pair.acquire, pair.release};
  const interlock::client locks(server.url());
  out.add(pairs(with, raw, floor, locks)
              .against(1.1, {.name = "redis-pair/native",
                             .what = "acquire + release, p50, against a socket on which the same bytes are sent"}));
}

/// Behind a delay, what counts is how often one waits for the other side.
void trips(const redis_server& server, const settings& with, report& out) {
  const tapped_link link(server.port(), redis_delay);
  raw_redis raw(link.port());
  const auto ping = command({"PING"});
  const interlock::client locks(link.url());
  const auto round_trips = [&](const std::string& which, double bar, auto pair) {
    const auto compared = compare(
        with, [&] { return typical(with.seconds, [&] { raw.call(ping); }); },
        [&] { return typical(with.seconds, [&] { pair(locks); }); });
    // A quarter of one is what the way through our own thread may cost beside the delay.
    auto row =
        compared.against(bar + 0.25, {.name = "redis-pair/trips-" + which,
                                      .what = "round trips waited for per pair, 1 ms each, " + which + " release"});
    out.add(std::move(row));
  };
  round_trips("awaited", 2, awaited_pair);
  round_trips("detached", 1, detached_pair);
}

}  // namespace

void redis_pair(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-pair", why);
  const redis_server server(with.folder);
  plain_pair(server, with, out);
  native_pair(server, with, out);
  trips(server, with, out);
}

}  // namespace bench
