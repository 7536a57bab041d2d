// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "support/agent.hpp"
#include "support/etcd_server.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

/// A real Go program with etcd's concurrency package, which ./dev interop etcd builds.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using namespace test_support;
using clock = std::chrono::steady_clock;

class etcd_go : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::getenv("INTERLOCK_ETCD_GO_AGENT") == nullptr) GTEST_SKIP() << "by ./dev interop etcd";
    server = std::make_unique<etcd_server>();
  }
  [[nodiscard]] agent run(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, "127.0.0.1:" + std::to_string(server->port()));
    return {std::getenv("INTERLOCK_ETCD_GO_AGENT"), std::move(words)};
  }
  [[nodiscard]] std::size_t in_line(const std::string& name) const {
    return etcd_line(*server, "", name).keys().size();
  }

  std::unique_ptr<etcd_server> server;
};

INSTANTIATE_TEST_SUITE_P(, etcd_go, ::testing::Values("mutex", "election"),
                         [](const auto& which) { return std::string(which.param); });

TEST_P(etcd_go, go_and_interlock_take_turns_promptly_and_tokens_rise) {
  const client locks(server->url());
  auto held = locks.acquire("orders");
  auto theirs = run({GetParam(), "orders"});
  ASSERT_TRUE(eventually([&] { return in_line("orders") == 2; }));
  EXPECT_FALSE(theirs.line(300ms)) << "two holders";
  auto wait = locks.async_acquire("orders", {.mode = lock_mode::shared});
  const auto begin = clock::now();
  EXPECT_TRUE(held.release());
  const auto said = theirs.after("held");
  ASSERT_TRUE(said);
  EXPECT_LT(clock::now() - begin, 2s);
  EXPECT_FALSE(wait.ready());
  EXPECT_GT(std::stoull(*said), held.token().value());
  theirs.say("go on");
  const auto again = clock::now();
  const auto next = wait.get();
  EXPECT_LT(clock::now() - again, 2s);
  EXPECT_TRUE(next.valid());
}

TEST_P(etcd_go, a_count_by_both_is_exact) {
  if (std::string(GetParam()) != "mutex") GTEST_SKIP() << "the mutex counts for both";
  const temporary_folder folder("etcd-go-count");
  const auto file = (folder.path() / "number").string();
  std::ofstream(file) << 0 << '\n';
  constexpr int each = 40;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] { EXPECT_EQ(run({"count", "count", file, std::to_string(each)}).wait(), 0); });
    workers.emplace_back([&] {
      const client mine(server->url());
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
