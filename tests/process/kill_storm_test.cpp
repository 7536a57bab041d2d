// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_SQLITE

#include "support/agent.hpp"
#include "support/sqlite_file.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::agent;

/// Everything that processes said about one counter.
struct account {
  std::map<long, std::uint64_t> token_of;  // by the number it wrote
  unsigned repeated = 0;

  void read(agent& from) {
    while (const auto said = from.after("did", 0ms)) {
      long number = 0;
      std::uint64_t token = 0;
      std::istringstream(*said) >> number >> token;
      if (!token_of.emplace(number, token).second) ++repeated;
    }
  }
  [[nodiscard]] bool tokens_rise() const {
    std::uint64_t last = 0;
    for (const auto& [number, token] : token_of) {
      if (token <= last) return false;
      last = token;
    }
    return true;
  }
};

struct kill_storm : ::testing::Test {
  agent counter(int rounds) {
    return agent({"count", file.url(), "counter", number.string(), std::to_string(rounds), "700"});
  }
  long counted() const {
    long value = 0;
    std::ifstream(number) >> value;
    return value;
  }
  test_support::sqlite_file file;
  std::filesystem::path number = file.folder() / "number";
};

TEST_F(kill_storm, four_processes_count_exactly) {
  constexpr int rounds = 50;
  std::vector<agent> all;
  for (int i = 0; i < 4; ++i) all.push_back(counter(rounds));
  for (auto& one : all) EXPECT_EQ(one.wait(), 0);
  account said;
  for (auto& one : all) said.read(one);
  EXPECT_EQ(counted(), 4 * rounds);
  EXPECT_EQ(said.token_of.size(), 4U * rounds);
  EXPECT_EQ(said.repeated, 0U) << "two processes saw the same number";
  EXPECT_TRUE(said.tokens_rise());
}

TEST_F(kill_storm, the_count_stays_exact_while_processes_are_killed_at_any_moment) {
  constexpr unsigned kills = 12;
  std::mt19937 dice(7);
  std::vector<agent> all;
  account said;
  for (int i = 0; i < 4; ++i) all.push_back(counter(100'000));
  for (unsigned i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(milliseconds(20 + dice() % 100));
    for (auto& live : all) said.read(live);  // a full pipe would stop it, lock in hand
    auto& one = all[dice() % all.size()];
    one.kill();
    said.read(one);
    std::destroy_at(&one);
    std::construct_at(&one, counter(100'000));
  }
  for (int i = 0; i < 15; ++i) {
    std::this_thread::sleep_for(100ms);
    for (auto& live : all) said.read(live);
  }
  for (auto& one : all) {
    one.kill();
    said.read(one);
  }
  EXPECT_EQ(said.repeated, 0U) << "an update was lost";
  EXPECT_TRUE(said.tokens_rise());
  const auto told = static_cast<long>(said.token_of.size());
  EXPECT_GT(told, 20);
  EXPECT_GE(counted(), told);
  EXPECT_LE(counted(), told + kills + 4) << "only a killed process leaves a number it could not tell of";
  const client locks(file.url());
  EXPECT_TRUE(locks.attempt("counter", {.wait = 20s})) << "the dead hold nothing for ever";
}

}  // namespace
}  // namespace interlock

#endif
