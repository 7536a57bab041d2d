// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "memcached_server.hpp"
#include "redis_requests.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#include <cstdint>
#include <deque>

namespace bench {
namespace {

/// A reply makes the next request of its lock, and what has come together is sent together.
double pipelined(raw_memcached& server, const std::vector<std::string>& names, double seconds) {
  struct state {
    const std::string* name;
    bool held;
  };
  std::deque<state> under_way;
  std::string out;
  std::uint64_t pairs = 0;
  const auto acquire = [&](const std::string& name) {
    out += raw_memcached::acquire(name);
    under_way.push_back({&name, false});
  };
  for (const auto& one : names) acquire(one);
  const double begin = now();
  for (const double end = begin + seconds; !under_way.empty();) {
    server.send(out);
    out.clear();
    const bool over = now() > end;
    do {
      const auto one = under_way.front();
      under_way.pop_front();
      if (!one.held) {
        out += raw_memcached::release(*one.name, server.acquired());
        under_way.push_back({one.name, true});
        continue;
      }
      server.released();
      ++pairs;
      if (!over) acquire(*one.name);
    } while (server.more_is_here());
  }
  return (now() - begin) / static_cast<double>(pairs);
}

}  // namespace

void memcached_pair(const settings& with, report& out) {
  if (const auto why = why_no_memcached(); !why.empty()) return out.skip("memcached-pair", why);
  const memcached_server server(with.folder);
  raw_memcached raw(server.port());
  const interlock::client locks(server.url());
  const auto acquire = raw_memcached::acquire("floor");
  out.add(compare(
              with,
              [&] {
                return typical(with.seconds, [&] {
                  raw.send(acquire);
                  raw.send(raw_memcached::release("floor", raw.acquired()));
                  raw.released();
                });
              },
              [&] { return typical(with.seconds, [&] { locks.acquire("orders/42").release().value(); }); })
              .against(1.1, {.name = "memcached-pair",
                             .what = "acquire + release, p50, against ms and ma, then md, on a bare socket"}));
}

void memcached_many(const settings& with, report& out) {
  if (const auto why = why_no_memcached(); !why.empty()) return out.skip("memcached-many", why);
  const on_core mine(client_core);
  const memcached_server server(with.folder, server_core);
  raw_memcached raw(server.port());
  const auto names = numbered("floor", many_locks);
  const interlock::client locks(server.url());
  out.add(compare(
              with, [&] { return pipelined(raw, names, with.seconds); },
              [&] { return busy_pace(locks, many_locks, with.seconds); })
              .against(1 / 0.8, {.name = "memcached-many",
                                 .what = "time per pair, 64 locks at once, against the same commands pipelined"}));
}

}  // namespace bench
