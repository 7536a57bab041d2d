// SPDX-License-Identifier: MIT
#pragma once

#include "report.hpp"
#include "settings.hpp"

#include <span>
#include <string_view>

namespace bench {

/// The lock of cases that have only one.
inline constexpr const char* one_name = "orders/42";

/// Something we measure; it may have several figures.
struct bench_case {
  std::string_view name;
  std::string_view what;
  void (*run)(const settings& with, report& out);
  bool peers = false;  ///< only with --peers
};
std::span<const bench_case> all_cases();

void sqlite_pair(const settings& with, report& out);
void thread_handoff(const settings& with, report& out);
void process_handoff(const settings& with, report& out);
void idle_waiters(const settings& with, report& out);
void many_waiters(const settings& with, report& out);
void many_leases(const settings& with, report& out);
void heap_per_pair(const settings& with, report& out);
void command_start(const settings& with, report& out);
void redis_pair(const settings& with, report& out);
void redis_many(const settings& with, report& out);
void redis_drain(const settings& with, report& out);
void redis_server_time(const settings& with, report& out);
void redis_fairness(const settings& with, report& out);
void redis_leases(const settings& with, report& out);
void redis_many_peers(const settings& with, report& out);
void redis_pair_peers(const settings& with, report& out);
void quorum_pair(const settings& with, report& out);
void quorum_many(const settings& with, report& out);
void redlock_peers(const settings& with, report& out);
void postgres_pair(const settings& with, report& out);
void postgres_session_pair(const settings& with, report& out);
void mariadb_pair(const settings& with, report& out);
void mariadb_session_pair(const settings& with, report& out);
void postgres_many(const settings& with, report& out);
void postgres_handoff(const settings& with, report& out);
void memcached_pair(const settings& with, report& out);
void memcached_many(const settings& with, report& out);
void etcd_pair(const settings& with, report& out);
void etcd_idle(const settings& with, report& out);
void etcd_pair_peers(const settings& with, report& out);
void etcd_many(const settings& with, report& out);
void etcd_handoff(const settings& with, report& out);
void zookeeper_pair(const settings& with, report& out);
void zookeeper_handoff(const settings& with, report& out);
void zookeeper_idle(const settings& with, report& out);
void zookeeper_peers(const settings& with, report& out);

#if INTERLOCK_WITH_SQLITE
inline constexpr bool with_sqlite = true;
#else
inline constexpr bool with_sqlite = false;
#endif
inline constexpr const char* no_sqlite = "this build has no SQLite store";

#if INTERLOCK_WITH_REDIS
inline constexpr bool with_redis = true;
#else
inline constexpr bool with_redis = false;
#endif

#if INTERLOCK_WITH_MYSQL
inline constexpr bool with_mysql = true;
#else
inline constexpr bool with_mysql = false;
#endif

#if INTERLOCK_WITH_POSTGRES
inline constexpr bool with_postgres = true;
#else
inline constexpr bool with_postgres = false;
#endif

#if INTERLOCK_WITH_MEMCACHED
inline constexpr bool with_memcached = true;
#else
inline constexpr bool with_memcached = false;
#endif

#if INTERLOCK_WITH_ETCD
inline constexpr bool with_etcd = true;
#else
inline constexpr bool with_etcd = false;
#endif

#if INTERLOCK_WITH_ZOOKEEPER
inline constexpr bool with_zookeeper = true;
#else
inline constexpr bool with_zookeeper = false;
#endif

}  // namespace bench
