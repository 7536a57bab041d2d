// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

/// The server's state, byte for byte: what other libraries leave there, and what we do.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test_support::eventually;
using test_support::redis_value;

class plain_states : public ::testing::Test {
 protected:
  [[nodiscard]] client connect(const std::string& more = {}) const {
    return client(server.url("layout=plain" + (more.empty() ? "" : "&" + more)));
  }
  redis_value ask(const test_support::redis_peek::words& what) const { return server.command(what); }
  [[nodiscard]] errc refusal(const client& locks, const std::string& name = "orders", milliseconds wait = 0ms) const {
    const auto reply = locks.attempt(name, {.wait = wait});
    return reply ? errc{} : reply.error().kind();
  }
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& one : ask({"KEYS", "*"}).list) out.push_back(one.text);
    std::sort(out.begin(), out.end());
    return out;
  }

  test_support::redis_server server;
};

using list = std::vector<std::string>;

TEST_F(plain_states, a_hold_is_a_string_of_32_digits_with_the_lease_as_its_time) {
  const auto locks = connect();
  auto held = locks.acquire("orders", {.lease = 20s});
  EXPECT_EQ(ask({"TYPE", "orders"}), "string");
  const auto value = ask({"GET", "orders"}).text;
  EXPECT_EQ(value.size(), 32U);
  EXPECT_EQ(value.find_first_not_of("0123456789abcdef"), std::string::npos);
  const auto left = ask({"PTTL", "orders"}).number;
  EXPECT_GT(left, 5'000);
  EXPECT_LE(left, 20'000);
  EXPECT_EQ(keys(), (list{"ilk1:{orders}:c", "orders"}));
  EXPECT_TRUE(held.release());
  EXPECT_EQ(ask({"EXISTS", "orders"}), 0);
  EXPECT_GT(ask({"PTTL", "ilk1:{orders}:c"}).number, 0) << "what is left behind goes by itself";
}

TEST_F(plain_states, without_tokens_there_is_nothing_but_the_lock) {
  const auto locks = connect("token=none");
  auto held = locks.acquire("orders");
  EXPECT_EQ(keys(), list{"orders"});
  EXPECT_TRUE(held.release());
  EXPECT_EQ(keys(), list{});
}

TEST_F(plain_states, without_tokens_a_lone_pair_is_one_set_and_one_script) {
  const auto locks = connect("token=none");
  EXPECT_TRUE(locks.acquire("orders").release());
  ask({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(locks.acquire("orders").release());
  auto said = server.commandstats();
  EXPECT_EQ(said["set"].calls, 20);
  EXPECT_EQ(said["evalsha"].calls, 20);
  for (const char* const one : {"eval", "script|load", "publish", "subscribe", "hset", "hdel"})
    EXPECT_EQ(said[one].calls, 0) << one;
}

TEST_F(plain_states, whatever_library_holds_it_keeps_us_out_and_is_left_as_it_is) {
  const list values{"4d9a2c1ae2f611ed8b1f0242ac120002",                    // redis-py
                    "c2VjcmV0LXNlY3JldC1zZWNy",                            // python-redis-lock
                    "ZpEx7Xo2pJk0cTqk6dWm3g==",                            // redsync
                    "dGhpcy1pcy1hLXRva2VuLWlkmetadata",                    // redislock, with metadata
                    "\x01\x80\xff\0\r\n{}*?\x7f\xfe 123456789abc"s,        // rueidis: raw bytes
                    "k3JbT0aQ9zXw1LmN8pRs",                                // redis-plus-plus
                    "0b7f5b9e-3d0b-4d5e-9a53-5c7d1f1f2b64",                // Spring, aioredlock, pottery, RedLock.net
                    "web-7_4711_0123456789abcdef0123456789abcdef",         // Medallion
                    "ADDED:2026-11-16T01:02:03.004Z@web-7:0b7f5b9e-3d0b",  // ShedLock
                    ""};                                                   // nobody's, but a key all the same
  for (const auto& token : {"token=counter", "token=none"}) {
    const auto locks = connect(token);
    for (const auto& value : values) {
      ask({"SET", "orders", value, "PX", "60000"});
      EXPECT_EQ(refusal(locks), errc::busy) << value;
      EXPECT_EQ(refusal(locks, "orders", 50ms), errc::busy) << value;
      EXPECT_EQ(ask({"GET", "orders"}), value);
      EXPECT_LE(ask({"PTTL", "orders"}).number, 60'000);
      EXPECT_GT(ask({"PTTL", "orders"}).number, 30'000);
      ask({"DEL", "orders"});
      EXPECT_TRUE(locks.acquire("orders").release());
    }
  }
}

TEST_F(plain_states, a_holder_that_set_no_time_is_not_repaired) {
  const auto locks = connect();
  ask({"SET", "orders", "somebody"});
  EXPECT_EQ(refusal(locks, "orders", 300ms), errc::busy);
  EXPECT_EQ(ask({"PTTL", "orders"}), -1);
  EXPECT_EQ(ask({"GET", "orders"}), "somebody");
  EXPECT_EQ(locks.inspect("orders").holders.at(0).lease_left, milliseconds::max());
  auto wait = locks.async_acquire("orders");
  ask({"DEL", "orders"});
  EXPECT_TRUE(wait.get().valid());
}

TEST_F(plain_states, a_release_deletes_nothing_that_is_not_ours) {
  const auto locks = connect();
  auto held = locks.acquire("orders");
  ask({"SET", "orders", "somebody", "PX", "60000"});
  const auto reply = held.release();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::lost);
  EXPECT_EQ(ask({"GET", "orders"}), "somebody");
}

TEST_F(plain_states, a_renewal_touches_nothing_that_is_not_ours_and_brings_nothing_back) {
  const auto locks = connect();
  const auto robbed = locks.acquire("orders", {.lease = 600ms}), removed = locks.acquire("stock", {.lease = 600ms});
  ask({"SET", "orders", "somebody", "PX", "5000"});
  ask({"DEL", "stock"});
  EXPECT_TRUE(eventually([&] { return robbed.lost().stop_requested() && removed.lost().stop_requested(); }));
  EXPECT_EQ(robbed.why_lost(), loss_reason::store_reset);
  std::this_thread::sleep_for(600ms);
  EXPECT_LT(ask({"PTTL", "orders"}).number, 5'000 - 600);
  EXPECT_EQ(ask({"GET", "orders"}), "somebody");
  EXPECT_EQ(ask({"EXISTS", "stock"}), 0);
}

// A Redisson lock, say. https://redis.io/docs/latest/develop/reference/ has SET NX fail on any type.
TEST_F(plain_states, another_format_under_the_key_is_refused_by_name_and_left_alone) {
  for (const auto& token : {"token=counter", "token=none"}) {
    const auto locks = connect(token);
    ask({"HSET", "orders", "3f1c:57", "1"});
    ask({"PEXPIRE", "orders", "60000"});
    for (const auto wait : {0ms, 100ms}) {
      const auto reply = locks.attempt("orders", {.wait = wait});
      ASSERT_FALSE(reply);
      EXPECT_EQ(reply.error(), errc::unsupported);
      EXPECT_NE(reply.error().message().find("is a hash"), std::string::npos) << reply.error().message();
    }
    EXPECT_EQ(ask({"HGET", "orders", "3f1c:57"}), "1");
    EXPECT_GT(ask({"PTTL", "orders"}).number, 30'000);
    const auto seen = locks.inspect("orders").holders;
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_NE(seen[0].program.find("hash"), std::string::npos);
    EXPECT_FALSE(locks.evict_by_force("orders", seen[0].id));
    EXPECT_EQ(ask({"EXISTS", "orders"}), 1);
    ask({"DEL", "orders"});
  }
}

TEST_F(plain_states, another_format_that_appears_ends_holding_and_waiting) {
  const auto locks = connect();
  const auto held = locks.acquire("orders", {.lease = 600ms});
  auto wait = locks.async_acquire("stock");
  ask({"SET", "stock", "somebody"});
  std::this_thread::sleep_for(50ms);
  for (const char* const key : {"orders", "stock"}) {
    ask({"DEL", key});
    ask({"HSET", key, "3f1c:57", "1"});
  }
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(ask({"TYPE", "orders"}), "hash");
  EXPECT_EQ(ask({"TYPE", "stock"}), "hash");
}

// ---- python-redis-lock: its waiters block on a list until a release pushes to it

TEST_F(plain_states, a_release_with_a_signal_leaves_one_element_for_a_second) {
  const auto locks = connect("key=lock:*&signal=lock-signal:*");
  auto held = locks.acquire("orders");
  EXPECT_EQ(ask({"EXISTS", "lock-signal:orders"}), 0);
  ask({"RPUSH", "lock-signal:orders", "old", "older"});
  EXPECT_TRUE(held.release());
  EXPECT_EQ(ask({"EXISTS", "lock:orders"}), 0);
  const auto signal = ask({"LRANGE", "lock-signal:orders", "0", "-1"});
  ASSERT_EQ(signal.size(), 1U);
  EXPECT_EQ(signal[0], "1");
  EXPECT_LE(ask({"PTTL", "lock-signal:orders"}).number, 1'000);
  EXPECT_GE(ask({"PTTL", "lock-signal:orders"}).number, -2);
}

TEST_F(plain_states, who_blocks_on_the_signal_wakes_and_finds_the_lock_free) {
  const auto locks = connect("key=lock:*&signal=lock-signal:*");
  auto held = locks.acquire("orders", {.lease = 60s});
  auto waiter = server.connect();
  waiter.send({"BLPOP", "lock-signal:orders", "0"});
  EXPECT_TRUE(eventually([&] { return server.info("clients")["blocked_clients"] == "1"; }));
  EXPECT_TRUE(held.release());
  EXPECT_EQ(waiter.receive()[1], "1");
  EXPECT_EQ(waiter.command({"SET", "lock:orders", "c2VjcmV0LXNlY3JldC1zZWNy", "NX", "EX", "10"}), "OK");
  EXPECT_EQ(refusal(locks), errc::busy);
}

TEST_F(plain_states, a_release_of_what_is_no_longer_ours_signals_nobody) {
  const auto locks = connect("key=lock:*&signal=lock-signal:*");
  auto held = locks.acquire("orders");
  ask({"SET", "lock:orders", "somebody"});
  EXPECT_FALSE(held.release());
  EXPECT_EQ(ask({"EXISTS", "lock-signal:orders"}), 0);
}

TEST_F(plain_states, a_forced_eviction_signals_too) {
  const auto locks = connect("key=lock:*&signal=lock-signal:*");
  ask({"SET", "lock:orders", "somebody"});
  EXPECT_TRUE(locks.evict_by_force("orders", locks.inspect("orders").holders.at(0).id));
  EXPECT_EQ(ask({"LLEN", "lock-signal:orders"}), 1);
}

// ---- names

TEST_F(plain_states, a_template_says_where_the_name_goes) {
  const auto locks = connect("key=_tooz_*_lock");
  const auto held = locks.acquire("orders");
  EXPECT_EQ(ask({"EXISTS", "_tooz_orders_lock"}), 1);
  ask({"SET", "_tooz_stock_lock", "somebody"});
  ask({"SET", "other", "data"});
  list names;
  for (const auto& one : locks.survey()) names.push_back(one.name);
  EXPECT_EQ(names, (list{"orders", "stock"}));
}

TEST_F(plain_states, bad_options_are_refused) {
  for (const char* const bad : {"key=orders", "key=*:*", "signal=x", "token=maybe", "token="})
    EXPECT_THROW(static_cast<void>(connect(bad)), lock_error) << bad;
}

TEST_F(plain_states, our_own_keys_cannot_be_locks) {
  const auto locks = connect();
  const auto held = locks.acquire("orders");
  EXPECT_EQ(refusal(locks, "ilk1:{orders}:c"), errc::invalid_argument);
  ASSERT_EQ(locks.survey().size(), 1U);
}

TEST_F(plain_states, only_exclusive_locks_are_offered) {
  const auto locks = connect();
  const auto shared = locks.attempt("orders", {.mode = lock_mode::shared, .wait = 0ms});
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error(), errc::unsupported);
  EXPECT_EQ(semaphore(locks, "gate", 3).attempt({.wait = 0ms}).error(), errc::unsupported);
  EXPECT_EQ(keys(), list{});
}

// ---- looking and evicting

TEST_F(plain_states, a_foreign_holder_is_shown_as_such) {
  const auto locks = connect();
  ask({"SET", "orders", "somebody", "PX", "60000"});
  const auto seen = locks.inspect("orders").holders;
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].program, "another library");
  EXPECT_FALSE(seen[0].token);
  EXPECT_GT(seen[0].lease_left, 30s);
  EXPECT_LE(seen[0].lease_left, 60s);
}

TEST_F(plain_states, a_foreign_holder_can_be_evicted_by_force_only_and_only_the_one_that_was_seen) {
  const auto locks = connect();
  ask({"SET", "orders", "somebody"});
  const auto id = locks.inspect("orders").holders.at(0).id;
  try {
    static_cast<void>(locks.evict("orders", id));
    FAIL() << "it was told that a stranger would stop";
  } catch (const lock_error& error) {
    EXPECT_EQ(error.code(), errc::unsupported);
  }
  ask({"SET", "orders", "somebody else"});
  EXPECT_FALSE(locks.evict_by_force("orders", id));
  EXPECT_EQ(ask({"GET", "orders"}), "somebody else");
  EXPECT_TRUE(locks.evict_by_force("orders", locks.inspect("orders").holders.at(0).id));
  EXPECT_EQ(ask({"EXISTS", "orders"}), 0);
}

// ---- what is left behind

TEST_F(plain_states, records_of_waiters_that_died_are_cleared_away) {
  const auto locks = connect();
  const auto held = locks.acquire("orders");
  for (int i = 0; i < 300; ++i)  // waiters that fell silent long ago
    ask({"HSET", "ilk1:{orders}:c", (std::to_string(i) + std::string(32, '0')).substr(0, 32),
         "w001000000000000001000000000000"});
  EXPECT_TRUE(locks.inspect("orders").waiters.empty());
  const auto other = connect();
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(refusal(other, "orders", 1ms), errc::busy);
    return ask({"HLEN", "ilk1:{orders}:c"}).number < 100;
  }));
}

TEST_F(plain_states, out_of_memory_one_can_still_renew_and_release) {
  const auto locks = connect();
  auto held = locks.acquire("orders", {.lease = 600ms});
  ask({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(refusal(locks, "stock"), errc::unavailable);
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  EXPECT_EQ(ask({"EXISTS", "orders"}), 0);
}

// Those that docs/backends/redis-plain.md names.
TEST_F(plain_states, few_rights_are_enough) {
  ask({"ACL",      "SETUSER",    "locker",       "on",       ">secret", "~lock:*",  "~lock-signal:*",
       "~ilk1:*",  "&ilk1:*",    "+hello",       "+info",    "+eval",   "+evalsha", "+set",
       "+get",     "+del",       "+mget",        "+pexpire", "+pttl",   "+type",    "+exists",
       "+time",    "+hmget",     "+hget",        "+hset",    "+hdel",   "+hlen",    "+hgetall",
       "+publish", "+subscribe", "+unsubscribe", "+lpush",   "+scan"});
  const auto at = "redis://locker:secret@127.0.0.1:" + std::to_string(server.port()) +
                  "?layout=plain&key=lock:*&signal=lock-signal:*";
  for (const char* const token : {"&token=counter", "&token=none"}) {
    const client locks(at + token), other(at + token);
    auto held = locks.acquire("orders", {.lease = 600ms});
    auto wait = other.async_acquire("orders");
    EXPECT_TRUE(eventually([&] { return locks.inspect("orders").waiters.size() == 1; }));
    std::this_thread::sleep_for(700ms);
    EXPECT_TRUE(held.release());
    const auto next = wait.get();
    EXPECT_EQ(locks.survey().size(), 1U);
    EXPECT_TRUE(locks.evict("orders", next.id()));
    EXPECT_TRUE(eventually([&] { return next.lost().stop_requested(); }));
    EXPECT_TRUE(locks.evict_by_force("orders", next.id()) || locks.inspect("orders").holders.empty());
  }
  EXPECT_EQ(ask({"ACL", "LOG"}).size(), 0U) << ask({"ACL", "LOG"});
}

}  // namespace
}  // namespace interlock::interop

#endif
