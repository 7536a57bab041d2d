// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

/// A server whose memory is full, or what it has to say to one client: it refuses, throws keys out, hangs up.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_server;
using test_support::tcp_proxy;

TEST(redis_memory, releasing_works_when_the_server_is_full) {
  redis_server server({.config = {"maxmemory 4mb", "maxmemory-policy noeviction"}});
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(5s));
  const std::string lump(100'000, 'x');
  for (int i = 0; i < 1000 && !server.ask({"SET", "lump-" + std::to_string(i), lump}).error(); ++i) {
  }
  EXPECT_TRUE(held.release()) << "what frees memory must not need any";
  const auto got = locks.attempt("b", lease_of(1s));
  if (!got) {
    EXPECT_EQ(got.error().kind(), errc::unavailable) << got.error().message();
  }
}

TEST(redis_memory, renewal_works_when_the_server_is_full) {
  redis_server server({.config = {"maxmemory 4mb", "maxmemory-policy noeviction"}});
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(1s));
  const std::string lump(100'000, 'x');
  for (int i = 0; i < 1000 && !server.ask({"SET", "lump-" + std::to_string(i), lump}).error(); ++i) {
  }
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
}

TEST(redis_memory, a_lock_that_was_evicted_is_lost_is_not_revived_and_tokens_go_on) {
  const redis_server server({.config = {"maxmemory 4mb", "maxmemory-policy allkeys-random"}});
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(9s));
  const auto token = held.token().value();
  const std::string book = "ilk1:{a}:b", lump(100'000, 'x');
  auto peek = server.connect();
  ASSERT_EQ(peek.command({"EXISTS", book}), 1);
  for (int i = 0; i < 10'000 && peek.command({"EXISTS", book}) == 1; ++i)
    peek.command({"SET", "lump-" + std::to_string(i), lump});
  ASSERT_EQ(peek.command({"EXISTS", book}), 0);
  ASSERT_GT(std::stoi(server.info("stats").at("evicted_keys")), 0);
  peek.command({"CONFIG", "SET", "maxmemory", "0"});  // from here on nothing goes away by itself
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 5s)) << "at the next look";
  EXPECT_EQ(held.why_lost(), loss_reason::store_reset);
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(peek.command({"EXISTS", book}), 0) << "a renewal has made it anew";
  const client other(server.url());
  const auto next = other.try_acquire("a");
  ASSERT_TRUE(next);
  EXPECT_GT(next->token().value(), token);
  EXPECT_EQ(held.state(), lock_state::lost);
}

// The grant is told while nobody hears it: the server has hung up, and the client cannot know yet.
TEST(redis_slow_subscriber, gets_its_turn_though_the_server_has_cut_it_off) {
  redis_server server({.config = {"client-output-buffer-limit pubsub 1mb 512kb 2"}});
  tcp_proxy link(server.port());
  const client waiter(server.url_at(link.port(), "timeout=30s"));
  auto peek = server.connect();
  std::vector<test_support::redis_value> its_channels;
  ASSERT_TRUE(eventually([&] { return !(its_channels = peek.command({"PUBSUB", "CHANNELS", "*"}).list).empty(); }, 5s));
  const client holder(server.url());
  auto held = holder.acquire("a", lease_of(30s));
  auto waiting = waiter.async_acquire("a", lease_of(30s));
  ASSERT_TRUE(eventually([&] { return !holder.inspect("a").waiters.empty(); }, 3s));
  const auto listeners = [&] {
    const auto seen = peek.command({"CLIENT", "LIST", "TYPE", "pubsub"}).text;
    return std::count(seen.begin(), seen.end(), '\n');
  };
  ASSERT_TRUE(eventually([&] { return listeners() == 2; }, 5s));
  link.hold();
  const std::string rubbish(100'000, 'x');
  for (int i = 0; i < 2000 && listeners() == 2; ++i)
    for (const auto& one : its_channels) peek.command({"PUBLISH", one.text, rubbish});
  ASSERT_EQ(listeners(), 1) << "of the two only the holder is there to hear";
  EXPECT_NE(server.process().log().find("overcoming of output buffer limits"), std::string::npos);
  EXPECT_TRUE(held.release());
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(waiting.ready());
  const auto from = std::chrono::steady_clock::now();
  link.heal();
  const auto got = waiting.get_result();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(got->valid());
  EXPECT_LT(std::chrono::steady_clock::now() - from, 5s) << "by looking, not by waiting for a lease to end";
}

}  // namespace
}  // namespace interlock

#endif
