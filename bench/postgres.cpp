// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "postgres_server.hpp"
#include "redis_requests.hpp"
#include "tapped_link.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#if INTERLOCK_WITH_POSTGRES
#include "raw_postgres.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace bench {

#if INTERLOCK_WITH_POSTGRES
namespace {

constexpr double postgres_delay = 0.005;  // there, and the same back

// So that the tables are there, and warm.
void make_tables(const postgres_server& server) {
  const interlock::client locks(server.url());
  for (int i = 0; i < 200; ++i) static_cast<void>(locks.acquire("warm").release());
}

/// One statement at a time, on as many connections as there are locks.
double by_connections(std::vector<std::unique_ptr<raw_postgres>>& all, double seconds) {
  std::atomic<std::uint64_t> pairs{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;
  for (auto& one : all)
    threads.emplace_back([&] {
      while (!over.load(std::memory_order_relaxed)) {
        one->acquire();
        one->release();
        ++pairs;
      }
    });
  const struct at_the_end {  // also if nothing moved, and the measurement is given up
    std::atomic<bool>& over;
    ~at_the_end() { over = true; }
  } stop{over};
  return pace_of(pairs, seconds);
}

/// From release() to the moment the next one, elsewhere, has it.
double hand_over(const interlock::client& from, const interlock::client& to, const char* name) {
  auto held = from.acquire(name);
  double granted = 0;
  std::latch asked(1);
  std::jthread next([&] {
    asked.count_down();
    auto mine = to.acquire(name);
    granted = now();
    mine.release().value();
  });
  asked.wait();
  sleep_for(20 * postgres_delay);  // it queues
  const double begin = now();
  held.release().value();
  next.join();
  return granted - begin;
}

/// Sixteen clients wait for one lock, which goes through all of them: how many were told, for each that got it.
double told_per_grant(const postgres_server& server) {
  constexpr int waiting = 16;
  const interlock::client first(server.url());
  auto held = first.acquire("passed on");
  std::vector<std::jthread> line;
  for (int i = 0; i < waiting; ++i)
    line.emplace_back([&] {
      const interlock::client mine(server.url());
      mine.acquire("passed on").release().value();
    });
  while (first.inspect("passed on").waiters.size() < waiting) sleep_for(0.02);
  raw_listener ears(server.conninfo());
  ears.listen_to_waiters();
  held.release().value();
  line.clear();
  return static_cast<double>(ears.heard()) / waiting;
}

}  // namespace

void postgres_session_pair(const settings& with, report& out) {
  if (const auto why = why_no_postgres(); !why.empty()) return out.skip("postgres-session-pair", why);
  const postgres_server server(with.folder);
  raw_session raw(server.conninfo());
  const interlock::client locks(server.url() + "&mode=session");
  out.add(compare(
              with, [&] { return typical(with.seconds, [&] { raw.pair(); }); },
              [&] { return typical(with.seconds, [&] { locks.acquire("orders/42").release().value(); }); })
              .against(1.15, {.name = "postgres-session-pair",
                              .what = "acquire + release, mode=session, p50, against the two prepared statements"}));
}

void postgres_pair(const settings& with, report& out) {
  if (const auto why = why_no_postgres(); !why.empty()) return out.skip("postgres-pair", why);
  const postgres_server server(with.folder);
  make_tables(server);
  raw_postgres raw(server.conninfo(), "floor");
  const interlock::client locks(server.url());
  out.add(compare(
              with, [&] { return typical(with.seconds, [&] { raw.acquire(), raw.release(); }); },
              [&] { return typical(with.seconds, [&] { locks.acquire("orders/42").release().value(); }); })
              .against(1.15, {.name = "postgres-pair",
                              .what = "acquire + release, p50, against the same prepared statements sent raw"}));
}

void postgres_many(const settings& with, report& out) {
  if (const auto why = why_no_postgres(); !why.empty()) return out.skip("postgres-many", why);
  const postgres_server server(with.folder);
  make_tables(server);
  std::vector<std::unique_ptr<raw_postgres>> raw;
  for (const auto& name : numbered("floor", many_locks))
    raw.push_back(std::make_unique<raw_postgres>(server.conninfo(), name));
  for (auto& one : raw)  // a session plans each statement when it first runs it
    for (int i = 0; i < 3; ++i) one->acquire(), one->release();
  const interlock::client locks(server.url());
  out.add(
      compare(
          with, [&] { return by_connections(raw, with.seconds); },
          [&] { return busy_pace(locks, many_locks, with.seconds); })
          .against(1 / 1.5, {.name = "postgres-many",
                             .what = "time per pair, 64 locks at once on one connection, against one statement at a "
                                     "time on 64 connections"}));
}

void postgres_handoff(const settings& with, report& out) {
  if (const auto why = why_no_postgres(); !why.empty()) return out.skip("postgres-handoff", why);
  const postgres_server server(with.folder);
  make_tables(server);
  tapped_link one(server.port(), postgres_delay), two(server.port(), postgres_delay);
  const interlock::client here(postgres_server::url_at(one.port())), there(postgres_server::url_at(two.port()));
  std::vector<double> trips;
  for (double end = now() + 2 * with.seconds; now() < end || trips.size() < 5;)
    trips.push_back(hand_over(here, there, "handed") / (2 * postgres_delay));
  out.add({.name = "postgres-handoff",
           .what = "from a release to the next owner, elsewhere, in round trips of 10 ms",
           .unit = " trips",
           .value = median(trips),
           .low = *std::min_element(trips.begin(), trips.end()),
           .high = *std::max_element(trips.begin(), trips.end()),
           .bar = 2.5});
  out.add({.name = "postgres-handoff/told",
           .what = "clients that are told, for each that is granted a lock for which sixteen wait",
           .value = told_per_grant(server),
           .bar = 1});
}
#else
void postgres_session_pair(const settings&, report& out) { out.skip("postgres-session-pair", why_no_postgres()); }
void postgres_pair(const settings&, report& out) { out.skip("postgres-pair", why_no_postgres()); }
void postgres_many(const settings&, report& out) { out.skip("postgres-many", why_no_postgres()); }
void postgres_handoff(const settings&, report& out) { out.skip("postgres-handoff", why_no_postgres()); }
#endif

}  // namespace bench
