// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/doctor.hpp"
#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_server.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

/// The rights that docs/backends names are enough, each for what it is said to be for.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string native_rights =
    "native on >secret ~ilk1:* &ilk1:* +hello +info +eval +evalsha +subscribe +unsubscribe +publish +time "
    "+get +set +setrange +del +pexpire +lpop +lpush +rpush +lindex +lrange +lrem "
    "+hget +hset +hsetnx +hdel +hlen +hvals +hgetall +scan ";
const std::string plain_rights =
    "plain on >secret ~job:* ~ilk1:* &ilk1:* +hello +info +eval +evalsha +set +get +mget +del +pexpire +pttl +type "
    "+exists +time +hmget +hget +hset +hdel +hlen +hgetall +publish +subscribe +unsubscribe ";
const std::string redisson_rights =
    "redisson on >secret ~* &* +hello +info +eval +evalsha +subscribe +unsubscribe +publish +time "
    "+get +set +del +exists +type +pttl +pexpire +incrby +decrby +hget +hset +hdel +hmget +hgetall +hkeys +hlen "
    "+hexists "
    "+zadd +zrem +zrange +zrangebyscore +zcard +zscore +zincrby +lindex +llen +lpop +lrange +lrem +rpush +scan ";
const std::string in_a_cluster = "+cluster|slots +asking ";
const std::string on_sharded_channels = "+spublish +ssubscribe +sunsubscribe ";

std::string url_of(const redis_server& server, const std::string& user, const std::string& rest = {}) {
  return "redis://" + user + ":secret@127.0.0.1:" + std::to_string(server.port()) + rest;
}

/// Held, waited for and handed over while the slot is between two masters. The old one says ASK; the new one lets
/// itself be asked, though it may have to say "try again" until the slot is its own.
void lock_while_a_slot_moves(redis_cluster& servers, const std::string& url, const std::string& name,
                             const std::string& key) {
  SCOPED_TRACE(url);
  const client first(url), second(url);
  auto held = first.acquire(name, lease_of(20s));
  auto waiting = second.async_acquire(name, lease_of(20s));
  EXPECT_TRUE(eventually([&] { return !first.inspect(name).waiters.empty(); }, 5s));
  const int slot = servers.slot_of(key);
  const auto& from = servers.master_of_slot(slot);
  const auto masters = servers.masters();
  auto& to = **std::find_if(masters.begin(), masters.end(), [&](const auto* one) { return one != &from; });
  servers.begin_move(slot, to);
  servers.move_keys(slot, to);
  const auto asked = to.commandstats()["asking"].calls;
  std::jthread releasing([&] { EXPECT_TRUE(held.release()); });
  EXPECT_TRUE(eventually([&] { return to.commandstats()["asking"].calls > asked; }, 3s));
  servers.finish_move(slot, to);
  releasing.join();
  auto got = waiting.get_result();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(got->release());
  EXPECT_TRUE(first.attempt(name, lease_of(20s)));
}

TEST(redis_rights, those_for_a_cluster_are_enough_also_while_a_slot_moves) {
  redis_cluster servers(
      {.users = {native_rights + in_a_cluster, plain_rights + in_a_cluster + on_sharded_channels + "+scan",
                 redisson_rights + in_a_cluster + on_sharded_channels}});
  const auto url = [&](const std::string& user, const std::string& query) {
    return "redis+cluster://" + user + ":secret@127.0.0.1:" + std::to_string(servers.node(0).port()) + query;
  };
  lock_while_a_slot_moves(servers, url("native", ""), "n", "ilk1:{n}:b");
  lock_while_a_slot_moves(servers, url("plain", "?layout=plain&key=job:*"), "p", "job:p");
  lock_while_a_slot_moves(servers, url("redisson", "?layout=redisson"), "r", "r");
  for (const auto& all :
       {url("native", ""), url("plain", "?layout=plain&key=job:*"), url("redisson", "?layout=redisson")})
    EXPECT_NO_THROW(static_cast<void>(client(all).survey())) << all;
}

TEST(redis_rights, that_to_ask_is_named_when_a_slot_moves_and_it_is_missing) {
  redis_cluster servers({.users = {native_rights + "+cluster|slots"}});
  const client locks("redis+cluster://native:secret@127.0.0.1:" + std::to_string(servers.node(0).port()));
  const int slot = servers.slot_of("ilk1:{n}:b");
  const auto& from = servers.master_of_slot(slot);
  const auto masters = servers.masters();
  servers.begin_move(slot,
                     **std::find_if(masters.begin(), masters.end(), [&](const auto* one) { return one != &from; }));
  const auto refused = locks.attempt("n", lease_of(20s));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::denied);
  EXPECT_THAT(refused.error().message(), HasSubstr("asking"));
}

TEST(redis_rights, that_to_wait_is_for_replicas_alone) {
  redis_replicas servers(1, {.users = {native_rights + "+wait", "un" + native_rights}});
  EXPECT_TRUE(client(url_of(servers.master(), "native", "?replicas=1")).try_acquire("a"));
  EXPECT_TRUE(client(url_of(servers.master(), "unnative")).try_acquire("b"));
  const auto refused = client(url_of(servers.master(), "unnative", "?replicas=1")).attempt("c", {.wait = 100ms});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("wait"));
}

TEST(redis_rights, that_to_select_is_for_another_database_alone) {
  const redis_server server({.users = {native_rights + "+select", "un" + native_rights}});
  EXPECT_TRUE(client(url_of(server, "native", "/5")).try_acquire("a"));
  EXPECT_TRUE(client(url_of(server, "unnative", "/0")).try_acquire("a"));
  const auto refused = client::connect(url_of(server, "unnative", "/5"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("select"));
}

TEST(redis_rights, that_to_read_settings_is_for_doctor_alone) {
  const redis_server server({.config = {"appendonly yes", "appendfsync always"},
                             .users = {native_rights + "+config|get", "un" + native_rights}});
  EXPECT_THAT(diagnosis(url_of(server, "native"), "persistence"), StartsWith("ok: "));
  EXPECT_THAT(diagnosis(url_of(server, "unnative"), "persistence"), HasSubstr("how often it is synced is not told"));
}

// Who does not know whether it is still the same server has to ask after its locks before it believes in them again.
TEST(redis_rights, that_to_be_informed_tells_a_broken_connection_from_a_restart) {
  auto silent = "un" + native_rights;
  silent.erase(silent.find("+info "), 6);
  const redis_server server({.users = {native_rights, silent}});
  const auto expect_jeopardies = [&](const std::string& user, int expected) {
    std::atomic<int> jeopardies{0};
    client_options options;
    options.observer = [&](const event& one) { jeopardies += one.kind == event_kind::jeopardy ? 1 : 0; };
    const client locks(url_of(server, user), options);
    const auto held = locks.acquire(user, lease_of(20s));
    for (const auto* type : {"normal", "pubsub"}) server.command({"CLIENT", "KILL", "TYPE", type});
    EXPECT_TRUE(eventually([&] { return locks.attempt("next", {.wait = 1s}).has_value(); }, 10s));
    EXPECT_TRUE(eventually([&] { return jeopardies == expected; }, 5s)) << user << ": " << jeopardies;
    EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 5s));
    EXPECT_EQ(jeopardies, expected) << user;
  };
  expect_jeopardies("native", 0);
  expect_jeopardies("unnative", 1);
}

// With it nothing late can happen over a connection that is broken; that it is not a must is said in the manual.
TEST(redis_rights, that_to_kill_clients_ends_broken_connections_of_ours) {
  const redis_server server({.users = {plain_rights + "+client|kill"}});
  const client locks(url_of(server, "plain", "?layout=plain&key=job:*&token=none"));
  auto held = locks.acquire("a", lease_of(20s));
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  server.command({"CLIENT", "KILL", "TYPE", "normal"});
  const auto by_hand = server.commandstats()["client|kill"].calls;
  EXPECT_TRUE(eventually([&] { return locks.attempt("b", {.wait = 1s}).has_value(); }, 10s));
  EXPECT_TRUE(eventually([&] { return server.commandstats()["client|kill"].calls > by_hand; }, 5s));
  EXPECT_TRUE(held.release());
}

TEST(redis_rights, those_for_a_plain_lock_are_enough_with_its_signal_and_its_list) {
  const redis_server server({.users = {plain_rights + "~signal:* +lpush +scan"}});
  const auto url = url_of(server, "plain", "?layout=plain&key=job:*&signal=signal:*");
  const client first(url), second(url);
  auto held = first.acquire("a", lease_of(900ms));
  auto waiting = second.async_acquire("a", lease_of(20s));
  EXPECT_TRUE(eventually([&] { return !first.inspect("a").waiters.empty(); }, 5s));
  EXPECT_EQ(first.survey().size(), 1U);
  EXPECT_TRUE(held.release());
  auto got = waiting.get();
  EXPECT_EQ(server.command({"EXISTS", "signal:a"}), 1);
  EXPECT_TRUE(first.evict("a", got.id()));
  EXPECT_TRUE(eventually([&] { return !got.valid(); }));
}

}  // namespace
}  // namespace interlock

#endif
