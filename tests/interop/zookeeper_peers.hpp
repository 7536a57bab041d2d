// SPDX-License-Identifier: MIT
#pragma once

#include "support/agent.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"
#include "support/zookeeper_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace interlock::interop {

/// Two processes of theirs and two of ours, each adding to one number under the same lock. One of theirs and one of
/// ours more is killed in the middle, holding or waiting.
template <class Theirs>
void contend(const std::string& url, Theirs theirs) {
  using test_support::agent;
  constexpr int their_rounds = 40, our_rounds = 80;
  const test_support::temporary_folder folder("interop");
  const auto file = (folder.path() / "counter").string();
  std::ofstream(file) << 0;
  const client locks(url);
  auto gate = locks.acquire("orders");
  std::vector<agent> all;
  for (int i = 0; i < 2; ++i) all.push_back(theirs("count", {file, std::to_string(their_rounds)}));
  for (int i = 0; i < 2; ++i) all.push_back(agent({"count", url, "orders", file, std::to_string(our_rounds), "2000"}));
  const auto queue = [&](std::size_t size) {
    return test_support::eventually([&] { return locks.inspect("orders").waiters.size() == size; });
  };
  auto dies_theirs = theirs("hold", {});
  ASSERT_TRUE(queue(5));
  agent dies_ours({"hold", url, "orders", "2000"});
  ASSERT_TRUE(queue(6));
  ASSERT_TRUE(gate.release());  // everybody wants it: it is a contest
  ASSERT_TRUE(dies_theirs.after("held", std::chrono::seconds{60}));
  dies_theirs.kill();
  ASSERT_TRUE(dies_ours.after("held", std::chrono::seconds{60}));
  dies_ours.kill();
  for (auto& one : all) {
    std::string last;
    while (const auto line = one.line(std::chrono::seconds{60})) last = *line;
    EXPECT_EQ(one.wait(), 0) << last;
  }
  int number = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, 2 * their_rounds + 2 * our_rounds) << "somebody overwrote somebody else's number";
}

}  // namespace interlock::interop
