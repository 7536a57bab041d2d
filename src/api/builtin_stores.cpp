// SPDX-License-Identifier: MIT
#include "api/builtin_stores.hpp"

#include "backends/memory/memory_store.hpp"
#include "core/registry.hpp"

#if INTERLOCK_WITH_ETCD
#include "backends/etcd/etcd_store.hpp"
#endif
#if INTERLOCK_WITH_MEMCACHED
#include "backends/memcached/memcached_store.hpp"
#endif
#if INTERLOCK_WITH_MYSQL
#include "backends/mysql/mysql_store.hpp"
#endif
#if INTERLOCK_WITH_POSTGRES
#include "backends/postgres/postgres_store.hpp"
#endif
#if INTERLOCK_WITH_REDIS
#include "backends/quorum/quorum_store.hpp"
#include "backends/redis/redis_store.hpp"
#endif
#if INTERLOCK_WITH_SQLITE
#include "backends/sqlite/sqlite_store.hpp"
#endif
#if INTERLOCK_WITH_ZOOKEEPER
#include "backends/zookeeper/zookeeper_store.hpp"
#endif

#include <mutex>

namespace interlock::inline v1::api {
namespace {

void add(const char* scheme, result<std::unique_ptr<backend>> (*open)(const backend_environment&)) {
  if (!core::find_backend(scheme)) register_backend(scheme, open);  // the program's own store of that name wins
}

}  // namespace

void register_builtin_stores() {
  static std::once_flag once;
  std::call_once(once, [] {
    add("memory", memory_store::open_memory);
#if INTERLOCK_WITH_ETCD
    for (const auto* scheme : {"etcd", "etcds"}) add(scheme, etcd_store::open_etcd);
#endif
#if INTERLOCK_WITH_MEMCACHED
    for (const auto* scheme : {"memcached", "memcacheds"}) add(scheme, memcached_store::open_memcached);
#endif
#if INTERLOCK_WITH_MYSQL
    for (const auto* scheme : {"mysql", "mariadb"}) {
      add(scheme, mysql_store::open_mysql);
      core::register_schema(scheme, mysql_store::schema_for);
    }
#endif
#if INTERLOCK_WITH_POSTGRES
    for (const auto* scheme : {"postgres", "postgresql"}) {
      add(scheme, postgres_store::open_postgres);
      core::register_schema(scheme, postgres_store::schema_for);
    }
#endif
#if INTERLOCK_WITH_REDIS
    for (const auto* scheme :
         {"redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"})
      add(scheme, redis_store::open_redis);
    for (const auto* scheme : {"redlock", "redlocks", "redis+dual", "rediss+dual"})
      add(scheme, quorum_store::open_quorum);
#endif
#if INTERLOCK_WITH_SQLITE
    add("sqlite", sqlite_store::open_sqlite);
#endif
#if INTERLOCK_WITH_ZOOKEEPER
    for (const auto* scheme : {"zk", "zks"}) add(scheme, zookeeper_store::open_zookeeper);
#endif
  });
}

void expect_short_life() {
#if INTERLOCK_WITH_SQLITE
  sqlite_store::expect_short_life();
#endif
}

}  // namespace interlock::inline v1::api
