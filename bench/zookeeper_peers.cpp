// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "crowd.hpp"
#include "peers.hpp"
#include "redis_requests.hpp"
#include "zookeeper_server.hpp"

#include <interlock/client.hpp>

/// Curator as it is, in a process of its own, in turns with interlock on the same server.
namespace bench {
namespace {

double passing(const interlock::client& locks, int waiters, double seconds) {
  crowd all(static_cast<std::size_t>(waiters), [&](std::size_t) { return locks.async_acquire("passed"); });
  for (const double end = now() + 30; all.changes().load() < static_cast<std::uint64_t>(waiters) && now() < end;)
    sleep_for(0.01);  // each has had it once
  const double pace = pace_of(all.changes(), seconds);
  all.end();
  static_cast<void>(all.served());
  return pace;
}

struct curator_rows {
  const settings& with;
  report& out;

  void row(const std::string& name, const std::string& what, double bar, const measure& theirs,
           const measure& ours) const {
    auto compared = compare(with, theirs, ours);
    compared.other = "curator";
    out.add(compared.against(bar, {.name = name,
                                   .what = what + ", against Curator's InterProcessMutex",
                                   .note = show_number(1 / median(compared.ratios)) + " times its rate"}));
  }
};

}  // namespace

void zookeeper_peers(const settings& with, report& out) {
  if (const auto why = why_no_zookeeper(); !why.empty()) return out.skip("zookeeper-peers", why);
  const auto curator = curator_in(with.peers);
  if (const auto why = curator.missing(); !why.empty()) return out.skip("zookeeper-peers", why);
  const zookeeper_server server;
  const interlock::client locks(server.url());
  const curator_rows all{with, out};
  peer_process peer(curator, {"127.0.0.1:" + std::to_string(server.port())});
  peer.warm_up(many_locks, with.seconds);
  all.row(
      "zookeeper-pair/curator", "acquire + release, mean", 0.75, [&] { return peer.pace(1, with.seconds); },
      [&] { return lone_pace(locks, with.seconds); });
  all.row(
      "zookeeper-many/curator", "time per pair, 64 locks at once", 1.0 / 4,
      [&] { return peer.pace(many_locks, with.seconds); }, [&] { return busy_pace(locks, many_locks, with.seconds); });
  for (const int waiters : {8, 512})
    all.row(
        "zookeeper-handoff/curator-" + std::to_string(waiters),
        "time per change of holder, " + std::to_string(waiters) + " waiters that queue again and again",
        waiters == 8 ? 1.0 / 3 : 1.0 / 8, [&] { return peer.pace_of_passing(waiters, with.seconds); },
        [&] { return passing(locks, waiters, with.seconds); });
}

}  // namespace bench
