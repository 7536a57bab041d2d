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
#include <ostream>
#include <string>
#include <thread>
#include <vector>

/// Real other programs in the same keys: Go's concurrency package, which ./dev interop etcd builds, and jetcd, which
/// ./dev interop jetcd fetches.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using namespace test_support;
using clock = std::chrono::steady_clock;

struct peer {
  const char* name;
  const char* by;         // what it locks with
  const char* installed;  // the variable that says where it is
  friend void PrintTo(const peer& one, std::ostream* out) { *out << one.name << ' ' << one.by; }
};

class etcd_peers : public ::testing::TestWithParam<peer> {
 protected:
  void SetUp() override {
    if (std::getenv(GetParam().installed) == nullptr) GTEST_SKIP() << "by ./dev interop etcd, or jetcd";
    server = std::make_unique<etcd_server>();
  }
  [[nodiscard]] agent run(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, "127.0.0.1:" + std::to_string(server->port()));
    const std::string where = std::getenv(GetParam().installed);
    if (std::string(GetParam().name) == "go") return {where, std::move(words)};
    words.insert(words.begin(), {"java", "-cp", where, "Peer"});
    return {"/usr/bin/env", std::move(words)};
  }
  [[nodiscard]] std::size_t in_line(const std::string& name) const {
    return etcd_line(*server, "", name).keys().size();
  }

  std::unique_ptr<etcd_server> server;
};

INSTANTIATE_TEST_SUITE_P(, etcd_peers,
                         ::testing::Values(peer{"go", "mutex", "INTERLOCK_ETCD_GO_AGENT"},
                                           peer{"go", "election", "INTERLOCK_ETCD_GO_AGENT"},
                                           peer{"jetcd", "mutex", "INTERLOCK_JETCD"},
                                           peer{"jetcd", "election", "INTERLOCK_JETCD"}),
                         [](const auto& which) { return std::string(which.param.name) + "_" + which.param.by; });

TEST_P(etcd_peers, they_and_interlock_take_turns_promptly_and_tokens_rise) {
  const client locks(server->url());
  auto held = locks.acquire("orders");
  auto theirs = run({GetParam().by, "orders"});
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

TEST_P(etcd_peers, a_count_by_both_is_exact) {
  const temporary_folder folder("etcd-go-count");
  const auto file = (folder.path() / "number").string();
  std::ofstream(file) << 0 << '\n';
  constexpr int each = 40;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      EXPECT_EQ(run({"count-" + std::string(GetParam().by), "count", file, std::to_string(each)}).wait(), 0);
    });
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
