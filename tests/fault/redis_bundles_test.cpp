// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <vector>

/// What callbacks ask for together reaches the server as few calls of a script that carries out several.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::redis_server;
using test_support::tcp_proxy;

using guards = std::vector<result<guard>>;

std::string numbered(int number) { return "orders/" + std::to_string(number); }

// Asked for in one callback.
guards take_together(const client& locks, const std::vector<std::string>& names, const acquire_options& how = {}) {
  std::promise<std::vector<pending<guard>>> asked;
  locks.async_acquire("the-first").then([&](const result<guard>&) {
    std::vector<pending<guard>> all;
    for (const auto& name : names) all.push_back(locks.async_acquire(name, how));
    asked.set_value(std::move(all));
  });
  guards out;
  for (auto& one : asked.get_future().get()) out.push_back(one.get_result());
  return out;
}

void release_together(const client& locks, guards held) {
  std::promise<std::vector<pending<void>>> asked;
  locks.async_acquire("the-first").then([&](const result<guard>&) {
    std::vector<pending<void>> all;
    for (auto& one : held) all.push_back(one.value().async_release());
    asked.set_value(std::move(all));
  });
  for (auto& one : asked.get_future().get()) one.get();
}

std::vector<std::string> forty_names() {
  std::vector<std::string> out;
  for (int i = 0; i < 40; ++i) out.push_back(numbered(i));
  return out;
}

std::int64_t scripts_called(const redis_server& server) {
  auto counts = server.commandstats();
  return counts["evalsha"].calls + counts["eval"].calls;
}

struct redis_bundles : ::testing::TestWithParam<const char*> {
  redis_server server{};
  tcp_proxy network{server.port()};
  client locks{server.url_at(network.port(), GetParam())};
  client others{server.url(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(layouts, redis_bundles, ::testing::Values("layout=native", "layout=plain&token=none"),
                         [](const auto& one) {
                           return std::string(one.param).find("plain") != std::string::npos ? "plain" : "native";
                         });

TEST_P(redis_bundles, forty_locks_and_their_releases_take_a_few_calls) {
  release_together(locks, take_together(locks, forty_names()));  // the texts of the scripts are known from here on
  const auto before = scripts_called(server);
  auto held = take_together(locks, forty_names());
  for (const auto& one : held) ASSERT_TRUE(one) << one.error().message();
  for (const auto& name : forty_names()) EXPECT_FALSE(others.try_acquire(name, {.wait = 0ms})) << name;
  const auto refusals = 40;
  release_together(locks, std::move(held));
  EXPECT_LT(scripts_called(server) - before - refusals, 24) << "eighty requests one by one";
  for (const auto& name : forty_names()) EXPECT_TRUE(others.try_acquire(name, {.wait = 0ms})) << name;
}

TEST_P(redis_bundles, guards_that_end_in_a_callback_take_a_few_calls) {
  const auto end_together = [&](guards held) {
    std::promise<void> over;
    locks.async_acquire("the-first").then([&](const result<guard>&) {
      held.clear();
      over.set_value();
    });
    over.get_future().get();
    locks.acquire("the-last").release().value();  // behind all that
  };
  end_together(take_together(locks, forty_names()));
  auto held = take_together(locks, forty_names());
  const auto before = scripts_called(server);
  end_together(std::move(held));
  EXPECT_LT(scripts_called(server) - before, 16) << "forty releases one by one";
  for (const auto& name : forty_names()) EXPECT_TRUE(others.try_acquire(name, {.wait = 0ms})) << name;
}

TEST_P(redis_bundles, what_is_wrong_with_one_is_told_for_that_one) {
  const auto key = std::string(GetParam()) == "layout=native" ? "ilk1:{orders/7}:b" : "orders/7";
  server.command({"RPUSH", key, "not a lock"});
  auto held = take_together(locks, forty_names(), {.wait = 0ms});
  for (int i = 0; i < 40; ++i) {
    const auto& one = held[static_cast<std::size_t>(i)];
    EXPECT_EQ(one.has_value(), i != 7) << i << (one ? "" : one.error().message());
  }
  EXPECT_EQ(server.command({"TYPE", key}), "list") << "it was left alone";
  held.erase(held.begin() + 7);
  release_together(locks, std::move(held));
  EXPECT_TRUE(others.try_acquire(numbered(8), {.wait = 0ms}));
}

TEST_P(redis_bundles, a_server_that_has_forgotten_the_scripts_is_told_again) {
  release_together(locks, take_together(locks, forty_names()));
  server.command({"SCRIPT", "FLUSH"});
  auto held = take_together(locks, forty_names());
  for (const auto& one : held) ASSERT_TRUE(one) << one.error().message();
  server.command({"SCRIPT", "FLUSH"});
  release_together(locks, std::move(held));
  for (const auto& name : forty_names()) EXPECT_TRUE(others.try_acquire(name, {.wait = 0ms})) << name;
}

TEST_P(redis_bundles, a_lost_answer_costs_nobody_a_lock) {
  release_together(locks, take_together(locks, forty_names()));
  const auto elsewhere = others.acquire("taken");
  std::promise<std::vector<pending<guard>>> asked;
  locks.async_acquire("the-first").then([&](const result<guard>&) {
    network.lose_next_reply();
    std::vector<pending<guard>> all;
    for (const auto& name : forty_names()) all.push_back(locks.async_acquire(name, {.wait = 60s}));
    asked.set_value(std::move(all));
  });
  guards held;
  for (auto& one : asked.get_future().get()) held.push_back(one.get_result());
  std::set<std::string> ids;
  for (const auto& one : held) {
    ASSERT_TRUE(one) << one.error().message();
    ids.insert(to_string(one->id()));
  }
  EXPECT_EQ(ids.size(), 40U);
  for (const auto& name : forty_names()) EXPECT_EQ(others.inspect(name).holders.size(), 1U) << name;
  release_together(locks, std::move(held));
  for (const auto& name : forty_names()) EXPECT_TRUE(others.try_acquire(name, {.wait = 0ms})) << name;
}

// The plain layout has three forms of the keys beside the lock's own.
TEST(redis_bundles_of_the_plain_layout, tell_everybody_who_waits_and_nobody_else) {
  const redis_server server;
  const client locks{server.url("layout=plain&token=none")}, others{server.url("layout=plain&token=none")};
  const std::vector<std::string> wanted{"bare", "with{a tag}in", "odd}one"};
  auto names = forty_names();
  names.insert(names.begin() + 20, wanted.begin(), wanted.end());
  release_together(locks, take_together(locks, names));
  EXPECT_EQ(server.commandstats()["publish"].calls, 0);

  auto held = take_together(locks, names);
  std::vector<pending<guard>> waiting;
  for (const auto& name : wanted) waiting.push_back(others.async_acquire(name));
  for (const auto& name : wanted)
    ASSERT_TRUE(test_support::eventually([&] { return others.inspect(name).waiters.size() == 1; })) << name;
  release_together(locks, std::move(held));
  for (auto& one : waiting) EXPECT_TRUE(one.get().valid());
  EXPECT_EQ(server.commandstats()["publish"].calls, 3);
  for (const auto& name : forty_names()) EXPECT_TRUE(others.try_acquire(name, {.wait = 0ms})) << name;
}

// Nothing but the rights that docs/backends/redis-plain.md names.
TEST(redis_bundles_of_the_plain_layout, need_few_rights) {
  const redis_server server;
  server.command({"ACL",     "SETUSER",  "locker",   "on",         ">secret",     "~orders/*", "~the-first", "~ilk1:*",
                  "&ilk1:*", "+hello",   "+info",    "+eval",      "+evalsha",    "+set",      "+get",       "+mget",
                  "+del",    "+exists",  "+hmget",   "+hset",      "+hget",       "+hdel",     "+hlen",      "+time",
                  "+pttl",   "+pexpire", "+publish", "+subscribe", "+unsubscribe"});
  const client locks{"redis://locker:secret@127.0.0.1:" + std::to_string(server.port()) + "?layout=plain&token=none"};
  release_together(locks, take_together(locks, forty_names()));
  const client others{server.url("layout=plain&token=none")};
  for (const auto& name : forty_names()) EXPECT_TRUE(others.try_acquire(name, {.wait = 0ms})) << name;
}

TEST_P(redis_bundles, callers_who_want_the_same_locks_get_them_in_turn) {
  std::array<std::atomic<int>, 3> inside{};
  std::atomic<int> most{0}, left{2 * 40};
  std::promise<void> over;
  const auto take_all = [&](const client& who) {
    who.async_acquire("the-first-of-" + who.url()).then([&](const result<guard>&) {
      for (int i = 0; i < 40; ++i)
        who.async_acquire(numbered(i % 3), {.wait = 60s}).then([&, i](result<guard> got) {
          auto& here = inside.at(static_cast<std::size_t>(i % 3));
          const int now = ++here;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          --here;
          got.value().async_release().then([&](const result<void>& done) {
            EXPECT_TRUE(done);
            if (--left == 0) over.set_value();
          });
        });
    });
  };
  take_all(locks);
  take_all(others);
  ASSERT_EQ(over.get_future().wait_for(60s), std::future_status::ready) << left << " are left";
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace interlock

#endif
