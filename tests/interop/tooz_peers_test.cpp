// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_MEMCACHED) && defined(INTERLOCK_WITH_MYSQL) && defined(INTERLOCK_WITH_POSTGRES)

#include "support/agent.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/memcached_server.hpp"
#include "support/postgres_server.hpp"
#include "support/temporary_folder.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

/// Processes of tooz and ours on the same locks: items of Memcached, user locks, advisory locks. By ./dev interop tooz.
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

/// A server, and what both call it.
struct meeting_place {
  std::string ours, theirs;
  std::shared_ptr<void> server;
};

template <class Server>
meeting_place place(const std::string& query, const std::string& begin, const std::string& end) {
  auto server = std::make_shared<Server>();
  return {server->url(query), begin + "127.0.0.1:" + std::to_string(server->port()) + end, server};
}

meeting_place place_on(const std::string& store) {
  if (store == "memcached") return place<memcached_server>("layout=tooz", "memcached://", "?lock_timeout=3");
  if (store == "mariadb") return place<mariadb_server>("mode=session&keys=plain", "mysql://root@", "/mysql");
  return place<postgres_server>("mode=session&keys=tooz", "postgresql://postgres@", "/postgres");
}

struct tooz_peers : ::testing::TestWithParam<std::string> {
  void SetUp() override {
    if (python == nullptr) GTEST_SKIP() << "met by ./dev interop tooz";
    at = place_on(GetParam());
  }
  [[nodiscard]] agent theirs(const std::string& verb, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{std::string(INTERLOCK_SOURCE_DIR) + "/tests/interop/tooz/tooz_agent.py", verb,
                                   at.theirs, "orders"};
    words.insert(words.end(), more.begin(), more.end());
    return {python, words};
  }

  const char* python = std::getenv("INTERLOCK_TOOZ_PYTHON");
  meeting_place at;
};

TEST_P(tooz_peers, exclude_us_and_are_excluded) {
  const client locks(at.ours);
  auto held = locks.acquire("orders");
  EXPECT_EQ(theirs("try").line(), "busy");
  auto waits = theirs("hold");
  ASSERT_TRUE(waits.after("asking"));
  ASSERT_TRUE(held.release());
  ASSERT_TRUE(waits.after("held"));
  EXPECT_FALSE(locks.try_acquire("orders"));
  auto next = locks.async_acquire("orders");
  waits.end_input();
  const auto again = next.get();
  EXPECT_EQ(theirs("try").line(), "busy");
}

TEST_P(tooz_peers, that_die_are_survived_by_us_and_we_by_them) {
  const client locks(at.ours);
  auto dies = theirs("hold");
  ASSERT_TRUE(dies.after("held"));
  dies.kill();
  {
    const auto reply = locks.attempt("orders", {.wait = 30s});
    ASSERT_TRUE(reply) << reply.error().message();
  }
  agent ours({"hold", at.ours, "orders", "2000"});
  ASSERT_TRUE(ours.after("held"));
  ours.kill();
  auto next = theirs("hold");
  EXPECT_TRUE(next.after("held", 30s));
}

TEST_P(tooz_peers, and_we_lose_no_update_of_each_other) {
  constexpr int rounds = 40;
  const temporary_folder folder("tooz");
  const auto file = (folder.path() / "counter").string();
  std::ofstream(file) << 0;
  std::vector<agent> all;
  for (int i = 0; i < 2; ++i) {
    all.push_back(theirs("count", {file, std::to_string(rounds)}));
    all.push_back(agent({"count", at.ours, "orders", file, std::to_string(rounds), "2000"}));
  }
  for (auto& one : all) {
    std::string last;
    while (const auto line = one.line(60s)) last = *line;
    EXPECT_EQ(one.wait(), 0) << last;
  }
  int number = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, 4 * rounds) << "somebody overwrote somebody else's number";
}

INSTANTIATE_TEST_SUITE_P(with, tooz_peers, ::testing::Values("mariadb", "memcached", "postgres"),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace interlock::interop

#endif
