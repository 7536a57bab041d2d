// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "support/agent.hpp"
#include "support/etcd_server.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

/// etcd's own command contends for the same locks: `etcdctl lock` is Go's concurrency.Mutex, `etcdctl elect` its
/// Election.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using namespace test_support;
using clock = std::chrono::steady_clock;

class etcd_control : public ::testing::Test {
 protected:
  [[nodiscard]] agent run(std::vector<std::string> words) const {
    auto all = server.control_arguments();
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.begin(), "etcdctl");
    return {"/usr/bin/env", std::move(all)};
  }
  [[nodiscard]] std::vector<std::string> keys(const std::string& name) const {
    return etcd_line(server, "", name).keys();
  }

  etcd_server server;
  client locks{server.url()};
};

TEST_F(etcd_control, our_key_is_the_one_that_the_concurrency_package_would_write) {
  const auto held = locks.acquire("orders");
  const auto said = server.control({"get", "orders/", "--prefix", "-w", "fields"});
  const auto all = keys("orders");
  ASSERT_EQ(all.size(), 1U);
  const auto field = [&](const std::string& name) {
    const auto at = said.find("\"" + name + "\" : ");
    return at == said.npos ? -1 : std::stoll(said.substr(at + name.size() + 5));
  };
  std::ostringstream key;
  key << "orders/" << std::hex << field("Lease");
  EXPECT_EQ(all[0], key.str());
  EXPECT_EQ(static_cast<std::uint64_t>(field("CreateRevision")), held.token().value());
}

TEST_F(etcd_control, its_lock_keeps_us_out_and_is_handed_over_promptly) {
  auto theirs = run({"lock", "orders"});
  ASSERT_TRUE(theirs.line()) << "the key it holds";
  EXPECT_FALSE(locks.try_acquire("orders"));
  EXPECT_FALSE(locks.try_acquire("orders", {.mode = lock_mode::shared}));
  const auto seen = locks.inspect("orders");
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_EQ(seen.holders[0].program, "another library");
  auto wait = locks.async_acquire("orders");
  ASSERT_TRUE(eventually([&] { return keys("orders").size() == 2; }));
  ASSERT_EQ(::kill(theirs.pid(), SIGINT), 0);  // releases
  const auto begin = clock::now();
  const auto held = wait.get();
  EXPECT_LT(clock::now() - begin, 2s);
  EXPECT_GT(held.token(), seen.holders[0].token.value());
}

TEST_F(etcd_control, ours_keeps_it_out_and_is_handed_over_promptly) {
  for (const auto mode : {lock_mode::exclusive, lock_mode::shared}) {
    auto held = locks.acquire("orders", {.mode = mode});
    auto theirs = run({"lock", "orders"});
    ASSERT_TRUE(eventually([&] { return keys("orders").size() == 2; }));
    EXPECT_FALSE(theirs.line(300ms)) << "two holders";
    const auto begin = clock::now();
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(theirs.line());
    EXPECT_LT(clock::now() - begin, 2s);
    ASSERT_EQ(::kill(theirs.pid(), SIGINT), 0);
    ASSERT_TRUE(eventually([&] { return keys("orders").empty(); }));
  }
}

TEST_F(etcd_control, strangers_are_broken_by_force_only) {
  auto theirs = run({"lock", "orders"});
  ASSERT_TRUE(theirs.line());
  const auto id = locks.inspect("orders").holders.at(0).id;
  EXPECT_THROW(static_cast<void>(locks.evict("orders", id)), lock_error);
  EXPECT_TRUE(locks.evict_by_force("orders", id));
  EXPECT_TRUE(locks.try_acquire("orders"));
}

TEST_F(etcd_control, an_election_is_the_same_lock) {
  auto theirs = run({"elect", "boss", "theirs"});
  ASSERT_TRUE(theirs.line());
  EXPECT_EQ(theirs.line().value_or(""), "theirs");
  EXPECT_FALSE(locks.try_acquire("boss"));
  auto wait = locks.async_acquire("boss");
  ASSERT_TRUE(eventually([&] { return keys("boss").size() == 2; }));
  ASSERT_EQ(::kill(theirs.pid(), SIGINT), 0);  // resigns
  auto held = wait.get();
  auto next = run({"elect", "boss", "again"});
  ASSERT_TRUE(eventually([&] { return keys("boss").size() == 2; }));
  EXPECT_FALSE(next.line(300ms)) << "two leaders";
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(next.line());
  EXPECT_EQ(next.line().value_or(""), "again");
}

TEST_F(etcd_control, a_count_by_both_is_exact) {
  const temporary_folder folder("etcd-count");
  const auto file = (folder.path() / "number").string();
  std::ofstream(file) << 0 << '\n';
  constexpr int each = 15;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      for (int n = 0; n < each; ++n)
        run({"lock", "count", "--", "/bin/sh", "-c", "read n <" + file + "; echo $((n + 1)) >" + file}).wait();
    });
    workers.emplace_back([&] {
      const client mine(server.url());
      for (int n = 0; n < each; ++n) {
        const auto held = mine.acquire("count");
        int number = 0;
        std::ifstream(file) >> number;
        std::ofstream(file) << number + 1 << '\n';
      }
    });
  }
  workers.clear();
  int number = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, 4 * each);
}

}  // namespace
}  // namespace interlock::interop

#endif
