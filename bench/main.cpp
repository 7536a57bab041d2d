// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "machine.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

namespace bench {

std::span<const bench_case> all_cases() {
  static constexpr std::array cases{
      bench_case{"sqlite-pair", "acquire and release on sqlite:, against the raw statements", sqlite_pair},
      bench_case{"thread-handoff", "a lock passed between two threads, against a futex ping-pong", thread_handoff},
      bench_case{"process-handoff",
                 "a lock passed between two processes on sqlite:, against datagrams and raw statements",
                 process_handoff},
      bench_case{"idle-waiters", "what waiting processes do to the file while nothing happens", idle_waiters},
      bench_case{"many-waiters", "10 000 asynchronous waiters on one name", many_waiters},
      bench_case{"many-leases", "100 000 held leases of one client", many_leases},
      bench_case{"heap-per-pair", "heap allocations for an acquire and release", heap_per_pair},
      bench_case{"command", "interlock run x -- true, against flock file true", command_start},
      bench_case{"redis-pair", "acquire and release on redis:, against a bare socket", redis_pair},
      bench_case{"redis-many", "64 locks at once on redis:, against a pipelined socket", redis_many},
      bench_case{"redis-drain", "a queue that drains on redis:, against a bare queue in the server", redis_drain},
      bench_case{"redis-server-time", "what a pair costs the Redis server, against the least scripts",
                 redis_server_time},
      bench_case{"redis-fairness", "512 waiters that queue again and again on redis:", redis_fairness},
      bench_case{"redis-leases", "10 000 held leases on redis:", redis_leases},
      bench_case{"redis-many-peers", "64 locks at once on redis:, against other libraries (--peers)", redis_many_peers,
                 true},
      bench_case{"redis-pair-peers", "acquire and release on redis:, against other libraries (--peers)",
                 redis_pair_peers, true},
      bench_case{"quorum-pair", "acquire and release on redlock:, against bare sockets", quorum_pair},
      bench_case{"quorum-many", "64 locks at once on redlock:", quorum_many},
      bench_case{"redlock-peers", "64 locks at once on five redlock: servers, against other libraries (--peers)",
                 redlock_peers, true},
      bench_case{"postgres-pair", "acquire and release on postgres:, against the raw statements", postgres_pair},
      bench_case{"postgres-session-pair", "acquire and release of an advisory lock, against the raw statements",
                 postgres_session_pair},
      bench_case{"mariadb-pair", "acquire and release on mysql:, against the raw call", mariadb_pair},
      bench_case{"mariadb-session-pair", "acquire and release of a user lock, against GET_LOCK and RELEASE_LOCK",
                 mariadb_session_pair},
      bench_case{"postgres-many", "64 locks at once on postgres:, against 64 connections", postgres_many},
      bench_case{"postgres-handoff", "a lock passed between two clients on postgres:, in round trips",
                 postgres_handoff},
      bench_case{"memcached-pair", "acquire and release on memcached:, against the raw commands", memcached_pair},
      bench_case{"memcached-many", "64 locks at once on memcached:, against the same commands pipelined",
                 memcached_many},
      bench_case{"etcd-pair", "acquire and release on etcd:, against blocking calls of gRPC", etcd_pair},
      bench_case{"etcd-idle", "what waiting clients ask of etcd while nothing happens", etcd_idle},
      bench_case{"etcd-pair-peers", "acquire and release on etcd:, against Go's mutex (--peers)", etcd_pair_peers,
                 true},
      bench_case{"etcd-many", "64 locks at once on etcd:, against Go's mutex (--peers)", etcd_many, true},
      bench_case{"etcd-handoff", "8, 64 and 512 waiters that queue again and again on etcd:, against Go's (--peers)",
                 etcd_handoff, true},
      bench_case{"zookeeper-pair", "acquire and release on zk:, against a bare socket", zookeeper_pair},
      bench_case{"zookeeper-handoff", "what a lock passed on on zk: costs the server", zookeeper_handoff},
      bench_case{"zookeeper-idle", "what waiters on zk: ask the server while nothing happens", zookeeper_idle},
      bench_case{"zookeeper-peers", "pairs, 64 locks at once and hand-offs on zk:, against Curator (--peers)",
                 zookeeper_peers, true},
  };
  return cases;
}

namespace {

constexpr int usage_error = 64;

void help() {
  std::puts(
      "usage: interlock_bench [OPTION...]\n"
      "\n"
      "Measures interlock against floors made of the bare system calls and statements, in one interleaved run on one\n"
      "core. What the figures mean: docs/performance.md.\n"
      "\n"
      "  --only NAME      this case only; may be repeated\n"
      "  --rounds N       floor and candidate, N times (5)\n"
      "  --seconds S      for each measurement (1)\n"
      "  --check          exit 1 if a bar is missed\n"
      "  --json           for programs\n"
      "  --command PATH   the interlock command to measure\n"
      "  --peers FOLDER   against other lock libraries as well, which ./dev bench --peers puts there\n"
      "  --list           the cases\n"
      "\n"
      "Files are put into $TMPDIR, else /var/tmp: that should be a disk.");
}

int list() {
  for (const auto& one : all_cases())
    std::printf("%-16.*s %.*s\n", int(one.name.size()), one.name.data(), int(one.what.size()), one.what.data());
  return 0;
}

/// What is wrong with asking for this case; nothing if it can be run.
std::string refusal(const std::string& name, const settings& with) {
  const auto found = std::ranges::find(all_cases(), name, &bench_case::name);
  if (found == all_cases().end()) return "no case " + name + "; --list shows them";
  return found->peers && with.peers.empty() ? name + " needs --peers" : "";
}

bool wanted(const bench_case& one, const settings& with) {
  if (one.peers && with.peers.empty()) return false;
  return with.only.empty() || std::ranges::find(with.only, one.name) != with.only.end();
}

int run(const settings& with) {
  for (const auto& name : with.only) {
    const auto why = refusal(name, with);
    if (why.empty()) continue;
    std::fprintf(stderr, "interlock_bench: %s\n", why.c_str());
    return usage_error;
  }
  share_one_core();
  report out(with.json);
  for (const auto& one : all_cases()) {
    if (!wanted(one, with)) continue;
    try {
      one.run(with, out);
    } catch (const std::exception& why) {
      out.fail(std::string(one.name), why.what());
    }
  }
  out.finish();
  return with.check && !out.good() ? 1 : 0;
}

}  // namespace
}  // namespace bench

int main(int count, char** words) try {
  using what = bench::request::what;
  const auto asked = bench::read_arguments(count, words);
  switch (asked.is) {
    case what::help: return bench::help(), 0;
    case what::list: return bench::list();
    case what::run: return bench::run(asked.with);
    case what::refuse: break;
  }
  std::fprintf(stderr, "interlock_bench: %s\n", asked.why.c_str());
  return bench::usage_error;
} catch (const std::exception& why) {
  std::fprintf(stderr, "interlock_bench: %s\n", why.what());
  return 1;
}
