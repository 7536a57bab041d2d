// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

/// What can happen to a latch's server, or on the way to it.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::redis_server;
using test_support::tcp_proxy;

class redis_latch : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string query() const { return "layout=" + GetParam(); }
  [[nodiscard]] latch at(int port, std::uint32_t count) const {
    return {client(server.url_at(port, query())), "start", count};
  }
  [[nodiscard]] latch here(std::uint32_t count) const { return at(server.port(), count); }
  [[nodiscard]] std::int64_t listeners() const {
    const auto all = server.command({"PUBSUB", "CHANNELS", GetParam() == "native" ? "ilk1:w:*" : "*countdownlatch*"});
    return static_cast<std::int64_t>(all.size());
  }
  redis_server server{{.config = {"appendonly yes"}}};
};
INSTANTIATE_TEST_SUITE_P(, redis_latch, ::testing::Values("native", "redisson"),
                         [](const ::testing::TestParamInfo<std::string>& which) { return which.param; });

TEST_P(redis_latch, a_wait_goes_on_after_the_connection_was_killed) {
  const auto gate = here(1);
  gate.create();
  auto wait = gate.async_wait();
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  server.command({"CLIENT", "KILL", "TYPE", "normal"});
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  ASSERT_TRUE(eventually([&] { return listeners() == 1; })) << "it listens again";
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(wait.ready());
  here(1).count_down();
  EXPECT_TRUE(wait.get_result());
}

TEST_P(redis_latch, what_opened_while_the_connection_was_down_is_found_out) {
  tcp_proxy proxy(server.port());
  const auto gate = at(proxy.port(), 1);
  gate.create();
  auto wait = gate.async_wait();
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  proxy.accepting(false);
  proxy.reset();
  here(1).count_down();
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(wait.ready());
  proxy.accepting(true);
  EXPECT_TRUE(wait.get_result());
}

TEST_P(redis_latch, a_wait_goes_on_after_the_server_was_restarted) {
  const auto gate = here(2);
  gate.create();
  gate.count_down();
  auto wait = gate.async_wait();
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  server.stop();
  server.restart();
  EXPECT_EQ(here(2).count_down(), 0U) << "it was kept on disk";
  EXPECT_TRUE(wait.get_result());
}

TEST_P(redis_latch, a_count_whose_reply_is_lost_counts_once) {
  tcp_proxy proxy(server.port());
  const auto gate = at(proxy.port(), 3);
  gate.create();
  ASSERT_EQ(gate.count_down(), 2U);
  for (std::uint32_t left = 2; left > 0; --left) {
    proxy.lose_next_reply();  // of the read, or of the write behind it
    if (left == 1) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(gate.count_down(), left - 1);
    EXPECT_EQ(here(3).left(), left - 1);
  }
}

TEST_P(redis_latch, a_count_that_was_stranded_on_a_broken_connection_does_not_count_again) {
  tcp_proxy proxy(server.port());
  const auto gate = at(proxy.port(), 3);
  gate.create();
  proxy.strand();
  EXPECT_EQ(gate.count_down(), 2U);
  proxy.heal();
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(here(3).left(), 2U);
}

TEST_P(redis_latch, those_who_wait_ask_nothing) {
  const auto gate = here(1);
  gate.create();
  std::vector<pending<void>> waits;
  for (int i = 0; i < 100; ++i) waits.push_back(gate.async_wait());
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  std::this_thread::sleep_for(200ms);
  server.command({"CONFIG", "RESETSTAT"});
  std::this_thread::sleep_for(2s);
  EXPECT_LE(server.commandstats()["get"].calls, 2) << "a look now and then";
  here(1).count_down();
  for (auto& one : waits) EXPECT_TRUE(one.get_result());
  EXPECT_TRUE(eventually([&] { return listeners() == 0; })) << "and nothing is left behind";
}

}  // namespace
}  // namespace interlock

#endif
