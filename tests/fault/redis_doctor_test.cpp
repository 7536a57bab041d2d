// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/command_run.hpp"
#include "support/doctor.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

/// What `interlock doctor` sees of Redis, and what it does not claim to have seen.
namespace interlock {
namespace {

using namespace test_support;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const redis_options durable{.config = {"appendonly yes", "appendfsync always"}};

/// A server, and a guest who may do everything but this.
struct secretive_server {
  explicit secretive_server(const std::string& without)
      : server({.config = durable.config, .users = {"guest on >guest ~* &* +@all " + without}}) {}
  [[nodiscard]] std::string url(const std::string& query = {}) const {
    return "redis://guest:guest@127.0.0.1:" + std::to_string(server.port()) + (query.empty() ? "" : "?" + query);
  }
  redis_server server;
};

std::string refused_strictness(const std::string& url) {
  const auto made = client::connect(url);
  if (made) return "connected";
  EXPECT_EQ(made.error().kind(), errc::unsupported);
  return made.error().message();
}

TEST(redis_doctor, finds_a_good_server_good) {
  const redis_server server(durable);
  const client locks(server.url());
  EXPECT_THAT(diagnosis(locks, "server"), AllOf(StartsWith("ok: Redis "), HasSubstr("RESP3, standalone")));
  EXPECT_THAT(diagnosis(locks, "eviction"), StartsWith("ok: noeviction"));
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("ok: append-only file, synced with every write"));
  EXPECT_EQ(diagnosis(locks, "replicas"), "ok: none");
  EXPECT_EQ(diagnosis(locks, "idle clients"), "no such check");
  EXPECT_EQ(diagnosis(locks, "settings"), "no such check");
}

TEST(redis_doctor, sees_that_locks_may_be_evicted) {
  const redis_server server({.config = {"maxmemory-policy allkeys-lru"}});
  const client locks(server.url());
  EXPECT_EQ(diagnosis(locks, "eviction"),
            "warn: maxmemory-policy allkeys-lru, though no maxmemory is set: a full memory throws locks out");
  server.command({"CONFIG", "SET", "maxmemory", "100mb"});
  EXPECT_EQ(diagnosis(locks, "eviction"), "warn: maxmemory-policy allkeys-lru: a full memory throws locks out");
  EXPECT_THAT(advice(locks, "eviction"), StartsWith("CONFIG SET maxmemory-policy noeviction"));
}

TEST(redis_doctor, tells_how_much_a_restart_forgets) {
  const redis_server server;
  const client locks(server.url());
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("warn: none: a restart forgets every lock"));
  server.command({"CONFIG", "SET", "save", "3600 1"});
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("warn: snapshots only"));
  EXPECT_THAT(advice(locks, "persistence"), StartsWith("CONFIG SET appendonly yes"));
  server.command({"CONFIG", "SET", "appendonly", "yes"});
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("warn: append-only file, synced everysec"));
  EXPECT_THAT(advice(locks, "persistence"), StartsWith("CONFIG SET appendfsync always"));
  server.command({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("ok: "));
}

TEST(redis_doctor, counts_the_replicas_and_those_that_must_confirm) {
  redis_replicas servers(1);
  const client carefree(servers.master().url());
  EXPECT_THAT(diagnosis(carefree, "replicas"), StartsWith("warn: 1 replica, which learn of a grant after its holder"));
  EXPECT_THAT(advice(carefree, "replicas"), StartsWith("add replicas=1"));
  EXPECT_EQ(diagnosis(servers.master().url("replicas=1"), "replicas"),
            "ok: 1 replica, of which 1 must confirm a grant");
  const client demanding(servers.master().url("replicas=2"));
  EXPECT_EQ(diagnosis(demanding, "replicas"), "fail: 1 replica, but 2 must confirm a grant: nobody gets a lock");
  EXPECT_THAT(advice(demanding, "replicas"), StartsWith("connect more"));
  EXPECT_FALSE(demanding.attempt("a", {.wait = milliseconds{1}})) << "nobody does";
  const redis_server alone;
  EXPECT_EQ(diagnosis(alone.url("replicas=1"), "replicas"),
            "fail: none is connected, but 1 must confirm a grant: nobody gets a lock");
}

TEST(redis_doctor, sees_that_nobody_can_take_over_behind_a_sentinel) {
  const redis_server master;
  const redis_server sentinel({.config = {"sentinel monitor m1 127.0.0.1 " + std::to_string(master.port()) + " 1"},
                               .program = "redis-sentinel"});
  const client locks("redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/m1");
  EXPECT_THAT(diagnosis(locks, "replicas"), StartsWith("warn: none is connected: nobody takes over"));
  EXPECT_EQ(advice(locks, "replicas"), "connect a replica");
}

TEST(redis_doctor, sees_that_the_server_cuts_off_who_is_silent) {
  const redis_server server({.config = {"timeout 60"}});
  const client locks(server.url());
  EXPECT_THAT(diagnosis(locks, "idle clients"), StartsWith("warn: are cut off after 60 s"));
  EXPECT_EQ(advice(locks, "idle clients"), "CONFIG SET timeout 0");
}

TEST(redis_doctor, sees_which_protocol_is_spoken) {
  const redis_server server;
  const client locks(server.url("protocol=2"));
  EXPECT_THAT(diagnosis(locks, "server"), AllOf(StartsWith("warn: Redis "), HasSubstr("RESP2")));
  EXPECT_THAT(advice(locks, "server"), HasSubstr("one connection"));
}

TEST(redis_doctor, tells_from_info_what_it_can_where_config_is_not_allowed) {
  const secretive_server keeps("-config");
  const client locks(keeps.url());
  EXPECT_THAT(diagnosis(locks, "eviction"), StartsWith("ok: noeviction"));
  EXPECT_THAT(diagnosis(locks, "persistence"),
              AllOf(StartsWith("warn: there is an append-only file; how often"), HasSubstr("NOPERM")));
  EXPECT_EQ(advice(locks, "persistence"), "allow +config|get to find out");
  keeps.server.command({"CONFIG", "SET", "appendonly", "no"});
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("warn: no append-only file"));
  EXPECT_EQ(advice(locks, "persistence"), "CONFIG SET appendonly yes");
  keeps.server.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"});
  EXPECT_THAT(diagnosis(locks, "eviction"), StartsWith("warn: maxmemory-policy allkeys-random"));
  EXPECT_EQ(diagnosis(locks, "replicas"), "ok: none");
}

// "none" would be a guess: there may be replicas that are not waited for.
TEST(redis_doctor, does_not_know_the_replicas_where_info_is_not_allowed) {
  const secretive_server keeps("-info");
  const client locks(keeps.url());
  EXPECT_THAT(diagnosis(locks, "replicas"), AllOf(StartsWith("warn: unknown: "), HasSubstr("NOPERM")));
  EXPECT_EQ(advice(locks, "replicas"), "allow +info to find out");
  EXPECT_THAT(diagnosis(locks, "eviction"), StartsWith("ok: noeviction"));
  EXPECT_THAT(diagnosis(locks, "persistence"), StartsWith("ok: append-only file"));
  EXPECT_THAT(diagnosis(keeps.url("replicas=1"), "replicas"), StartsWith("warn: unknown: "));
}

TEST(redis_doctor, knows_nothing_where_neither_is_allowed_and_says_so) {
  const secretive_server keeps("-info -config");
  const client locks(keeps.url());
  for (const auto* check : {"eviction", "persistence", "replicas"})
    EXPECT_THAT(diagnosis(locks, check), AllOf(StartsWith("warn: unknown: "), HasSubstr("NOPERM"))) << check;
  EXPECT_EQ(advice(locks, "eviction"), "allow +config|get or +info to find out");
  EXPECT_EQ(advice(locks, "persistence"), "allow +config|get to find out");
  EXPECT_THAT(diagnosis(locks, "server"), StartsWith("ok: Redis ")) << "which the greeting tells";
  EXPECT_THAT(refused_strictness(keeps.url("require=strict")),
              AllOf(HasSubstr("persistence: unknown"), HasSubstr("replicas: unknown"), HasSubstr("eviction: unknown")));
}

TEST(redis_doctor, its_findings_are_the_reasons_why_more_is_not_promised) {
  const redis_server good(durable);
  EXPECT_THAT(refused_strictness(good.url("require=strict")),
              AllOf(HasSubstr("Redis confirms a write before"), Not(HasSubstr("persistence")),
                    Not(HasSubstr("eviction")), Not(HasSubstr("replicas:"))));
  const redis_server forgetful({.config = {"maxmemory-policy allkeys-lru"}});
  EXPECT_THAT(refused_strictness(forgetful.url("require=strict")),
              AllOf(HasSubstr("persistence: none: a restart forgets"), HasSubstr("eviction: maxmemory-policy"),
                    Not(HasSubstr("replicas:"))));
  redis_replicas servers(1, durable);
  EXPECT_THAT(refused_strictness(servers.master().url("require=strict")),
              AllOf(HasSubstr("replicas: 1 replica, which learn"), Not(HasSubstr("persistence:"))));
  const secretive_server keeps("-config");
  EXPECT_THAT(refused_strictness(keeps.url("require=strict")), HasSubstr("how often it is synced is not told: "));
}

TEST(redis_doctor, is_a_command_that_says_what_is_fit_and_what_to_do) {
  const redis_server server({.config = {"maxmemory-policy allkeys-lru"}});
  const auto fit = run_command("", {"doctor", server.url()});
  EXPECT_EQ(fit.status, 0) << fit.text;
  EXPECT_THAT(fit.text, AllOf(HasSubstr("maxmemory-policy allkeys-lru"),
                              HasSubstr("-> CONFIG SET maxmemory-policy noeviction"), HasSubstr("\nfit for locks")));
  const auto unfit = run_command("", {"doctor", server.url("replicas=1")});
  EXPECT_NE(unfit.status, 0);
  EXPECT_THAT(unfit.text, HasSubstr("not fit for locks"));
}

}  // namespace
}  // namespace interlock

#endif
