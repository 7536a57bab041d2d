// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "raw_redis.hpp"
#include "redis_requests.hpp"
#include "redis_server.hpp"

namespace bench {
namespace {

/// Seconds that the server itself spends on one pair.
double server_seconds(raw_redis& server, redis_statistics& statistics, const pair_of_requests& pair, double seconds) {
  statistics.reset();
  double pairs = 0;
  for (const double end = now() + seconds; now() < end; ++pairs) {
    server.call(pair.acquire);
    server.call(pair.release);
  }
  return statistics.script_seconds() / pairs;
}

}  // namespace

// The least that a lock with a fencing token can do, against the store's own scripts, both called the same way.
void redis_server_time(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-server-time", why);
  const redis_server server(with.folder);
  raw_redis raw(server.port());
  redis_statistics statistics(server.port());
  const auto acquire = raw.load(
      "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end "
      "return 0");
  const auto release =
      raw.load("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0");
  const std::string owner(16, 'x');
  const pair_of_requests least{command({"EVALSHA", acquire, "2", "floor", "floor:token", owner, "30000"}),
                               command({"EVALSHA", release, "1", "floor", owner})};
  const auto own = requests_for(server.port(), {"orders/42"}).front();
  out.add(compare(
              with, [&] { return server_seconds(raw, statistics, least, with.seconds); },
              [&] { return server_seconds(raw, statistics, own, with.seconds); })
              .against(2, {.name = "redis-server-time",
                           .what = "the server's time for a pair nobody else wants, against the two least scripts"}));
}

}  // namespace bench
