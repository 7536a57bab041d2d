// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "crowd.hpp"
#include "etcd_server.hpp"
#include "peers.hpp"
#include "redis_requests.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#if INTERLOCK_BENCH_GRPC
#include "raw_etcd.hpp"
#endif

#include <array>
#include <cmath>
#include <vector>

namespace bench {

#if INTERLOCK_WITH_ETCD
namespace {

using keeps = etcd_server::keeps;

void lone_pair(const interlock::client& locks) { locks.acquire("orders/42").release().value(); }

double typical_pair(const interlock::client& locks, double seconds) {
  return typical(seconds, [&] { lone_pair(locks); });
}

/// What the server was sent for each pair, as it counts itself; the floor is to have sent the same.
template <class Pair>
[[maybe_unused]] double bytes_of(const etcd_server& server, Pair pair) {
  constexpr int pairs = 100;
  const auto received = [&] { return server.counted({"etcd_network_client_grpc_received_bytes_total"}); };
  const double before = received();
  for (int i = 0; i < pairs; ++i) pair();
  return (received() - before) / pairs;
}

/// Seconds per change of hands, when all have had the time to queue: tests/interop/etcd/pairs waits as long.
double hand_over(int waiters, double seconds, const crowd::asking& ask) {
  crowd all(static_cast<std::size_t>(waiters), ask);
  sleep_for(0.5 + 0.004 * waiters);
  const double begin = now();
  const auto before = all.changes().load();
  sleep_for(seconds);
  const auto changes = static_cast<double>(all.changes().load() - before);
  const double took = now() - begin;
  all.end();
  static_cast<void>(all.served());
  return took / changes;
}

std::string times_its_rate(const comparison& compared) {
  return show_number(1 / median(compared.ratios)) + " times its rate";
}

}  // namespace

#if INTERLOCK_BENCH_GRPC
void etcd_pair(const settings& with, report& out) {
  if (const auto why = why_no_etcd(); !why.empty()) return out.skip("etcd-pair", why);
  for (const auto where : {keeps::in_memory, keeps::on_disk}) {
    const etcd_server server(with.folder, where);
    raw_etcd raw(server.address(), "floor/42");
    const auto raw_pair = [&] { raw.acquire(), raw.release(); };
    const interlock::client locks(server.url());
    raw_pair(), lone_pair(locks);
    const double floor_bytes = bytes_of(server, raw_pair), bytes = bytes_of(server, [&] { lone_pair(locks); });
    out.add(
        compare(
            with, [&] { return typical(with.seconds, raw_pair); }, [&] { return typical_pair(locks, with.seconds); })
            .against(1.1, {.name = where == keeps::in_memory ? "etcd-pair" : "etcd-pair/disk",
                           .what = "acquire + release, p50, against blocking gRPC calls with the same requests",
                           .note = show_number(bytes) + " bytes, the floor " + show_number(floor_bytes)}));
  }
}
#else
void etcd_pair(const settings&, report& out) { out.skip("etcd-pair", "there is no gRPC to compare with"); }
#endif

void etcd_pair_peers(const settings& with, report& out) {
  if (const auto why = why_no_etcd(); !why.empty()) return out.skip("etcd-pair-peers", why);
  const auto go = go_etcd_in(with.peers);
  if (const auto why = go.missing(); !why.empty()) return out.skip("etcd-pair/go", why);
  for (const auto where : {keeps::in_memory, keeps::on_disk}) {
    const etcd_server server(with.folder, where);
    peer_process peer(go, {server.address()});
    const interlock::client locks(server.url());
    peer.pace(1, with.seconds), typical_pair(locks, with.seconds);
    auto compared = compare(
        with, [&] { return peer.pace(1, with.seconds); }, [&] { return typical_pair(locks, with.seconds); });
    compared.other = go.name;
    out.add(compared.against(0.9, {.name = where == keeps::in_memory ? "etcd-pair/go" : "etcd-pair/go-disk",
                                   .what = "acquire + release, p50, against Go's concurrency.Mutex"}));
  }
}

void etcd_many(const settings& with, report& out) {
  if (const auto why = why_no_etcd(); !why.empty()) return out.skip("etcd-many", why);
  const auto go = go_etcd_in(with.peers);
  if (const auto why = go.missing(); !why.empty()) return out.skip("etcd-many/go", why);
  const on_core mine(client_core);
  for (const auto where : {keeps::in_memory, keeps::on_disk}) {
    const etcd_server server(with.folder, where, server_core);
    peer_process peer(go, {server.address()});
    const interlock::client locks(server.url());
    peer.pace(many_locks, with.seconds), busy_pace(locks, many_locks, with.seconds);
    auto compared = compare(
        with, [&] { return peer.pace(many_locks, with.seconds); },
        [&] { return busy_pace(locks, many_locks, with.seconds); });
    compared.other = go.name;
    out.add(compared.against(1.0 / 3, {.name = where == keeps::in_memory ? "etcd-many/go" : "etcd-many/go-disk",
                                       .what = "time per pair, 64 locks at once, against Go's concurrency.Mutex",
                                       .note = times_its_rate(compared)}));
  }
}

void etcd_handoff(const settings& with, report& out) {
  if (const auto why = why_no_etcd(); !why.empty()) return out.skip("etcd-handoff", why);
  const auto go = go_etcd_handoff_in(with.peers);
  if (const auto why = go.missing(); !why.empty()) return out.skip("etcd-handoff/go", why);
  const etcd_server server(with.folder, keeps::on_disk);
  peer_process peer(go, {server.address()});
  const interlock::client locks(server.url());
  std::vector<interlock::client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(server.url());
  struct crowding {
    int waiters;
    double times;  ///< the other's rate
  };
  for (const auto& one : {crowding{8, 5}, crowding{64, 2.5}, crowding{512, 5}}) {
    const auto waiters = one.waiters;
    const auto row = [&](const std::string& suffix, double bar, const std::string& what, const crowd::asking& ask) {
      auto compared = compare(
          with, [&] { return peer.pace(waiters, with.seconds); },
          [&] { return hand_over(waiters, with.seconds, ask); });
      compared.other = go.name;
      out.add(compared.against(bar, {.name = "etcd-handoff/" + std::to_string(waiters) + suffix,
                                     .what = "time per change of hands, waiters that queue again and again, " + what +
                                             ", against Go's concurrency.Mutex",
                                     .note = times_its_rate(compared)}));
    };
    peer.pace(waiters, with.seconds);
    row("", 1 / one.times, "one client", [&](std::size_t) { return locks.async_acquire("crowd"); });
    row("-clients", 0, "eight clients",
        [&](std::size_t who) { return clients[who % clients.size()].async_acquire("crowd"); });
  }
}

void etcd_idle(const settings& with, report& out) {
  if (const auto why = why_no_etcd(); !why.empty()) return out.skip("etcd-idle", why);
  constexpr int names = 10, waiters = 100;
  const etcd_server server(with.folder, keeps::in_memory);
  const interlock::client holder(server.url());
  std::vector<interlock::guard> held;
  for (int i = 0; i < names; ++i) held.push_back(holder.acquire("idle/" + std::to_string(i)));
  const auto requests = [&] { return server.counted({"grpc_server_msg_received_total"}); };
  const auto streams = [&] { return server.counted({"grpc_server_started_total", "Watch"}); };
  const double streams_before = streams();
  const interlock::client locks(server.url());
  std::vector<interlock::pending<interlock::guard>> waiting;
  for (int i = 0; i < waiters; ++i) waiting.push_back(locks.async_acquire("idle/" + std::to_string(i % names)));
  for (double before = 0; before != requests(); sleep_for(0.3)) before = requests();  // until all have queued
  const double window = std::max(12.0, 5 * with.seconds);
  const double before = requests(), looks_before = server.counted({"grpc_server_msg_received_total", "LeaseKeepAlive"});
  sleep_for(window);
  const double sent = requests() - before;
  const double renewals = server.counted({"grpc_server_msg_received_total", "LeaseKeepAlive"}) - looks_before;
  // Both processes' claims are looked at once in a third of their lease, all of them in one transaction, together with
  // a renewal of the lease they share: 10 s for those who wait, 30 s for those who hold.
  const double looks = std::floor(window / (10.0 / 3)) + 1 + std::floor(window / (30.0 / 3)) + 1;
  out.add({.name = "etcd-idle/requests",
           .what = "requests while 100 waiters of one client idle on 10 names that another one holds, beside the looks "
                   "that keep their leases",
           .value = std::max(0.0, sent - 2 * looks),
           .bar = 0.0,
           .note = show_number(window) + " s; " + show_number(sent) + " messages, " + show_number(renewals) +
                   " of them renewals; a look per client and third of a lease is " + show_number(looks)});
  out.add({.name = "etcd-idle/watches",
           .what = "watch streams of the client that waits",
           .value = streams() - streams_before,
           .bar = 1});
}
#else
void etcd_pair(const settings&, report& out) { out.skip("etcd-pair", why_no_etcd()); }
void etcd_pair_peers(const settings&, report& out) { out.skip("etcd-pair-peers", why_no_etcd()); }
void etcd_many(const settings&, report& out) { out.skip("etcd-many", why_no_etcd()); }
void etcd_handoff(const settings&, report& out) { out.skip("etcd-handoff", why_no_etcd()); }
void etcd_idle(const settings&, report& out) { out.skip("etcd-idle", why_no_etcd()); }
#endif

}  // namespace bench
