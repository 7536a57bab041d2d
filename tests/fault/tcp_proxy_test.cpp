// SPDX-License-Identifier: MIT
// The network that other tests break on purpose.
#include "support/tcp_proxy.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

namespace interlock::test_support {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct tcp_proxy_test : testing::Test {
  redis_server server;
  tcp_proxy proxy{server.port()};

  bool silent(redis_peek& peek) {
    try {
      peek.receive(150ms);
      return false;
    } catch (const std::runtime_error& error) {
      return std::string(error.what()) == "the server says nothing";
    }
  }
  bool closed(redis_peek& peek) {
    try {
      peek.receive();
      return false;
    } catch (const std::runtime_error& error) {
      return std::string(error.what()) == "the server has closed the connection";
    }
  }
};

TEST_F(tcp_proxy_test, passes_on_what_it_is_given_and_counts_it) {
  const std::string much(5'000'000, 'x');
  redis_peek peek(proxy.port());
  peek.send({"SET", "a", much});
  peek.send({"GET", "a"});
  EXPECT_EQ(peek.receive(), "OK");
  EXPECT_TRUE(peek.receive() == much);
  EXPECT_EQ(peek.command({"PING"}), "PONG");
  const auto seen = proxy.seen();
  EXPECT_EQ(seen.connections, 1U);
  EXPECT_EQ(seen.open, 1U);
  EXPECT_GT(seen.to_server, much.size());
  EXPECT_GT(seen.to_client, much.size());
}

TEST_F(tcp_proxy_test, counts_a_pipeline_as_one_round_trip) {
  redis_peek peek(proxy.port());
  for (int times = 0; times < 5; ++times) peek.command({"PING"});
  EXPECT_EQ(proxy.seen().round_trips, 5U);
  server.freeze();  // so that it cannot answer in between
  for (int times = 0; times < 5; ++times) peek.send({"PING"});
  EXPECT_TRUE(silent(peek));
  server.thaw();
  for (int times = 0; times < 5; ++times) EXPECT_EQ(peek.receive(), "PONG");
  EXPECT_EQ(proxy.seen().round_trips, 6U);
}

TEST_F(tcp_proxy_test, delays_each_way) {
  redis_peek peek(proxy.port());
  proxy.delay(60ms);
  const auto begun = clock::now();
  peek.command({"PING"});
  EXPECT_GE(clock::now() - begun, 120ms);
}

TEST_F(tcp_proxy_test, cut_swallows_everything_and_tells_nobody) {
  redis_peek idle(proxy.port()), busy(proxy.port());
  idle.command({"PING"});
  proxy.cut();
  busy.send({"SET", "a", "1"});
  EXPECT_TRUE(silent(busy));
  redis_peek late(proxy.port());
  late.send({"PING"});
  EXPECT_TRUE(silent(late));
  EXPECT_TRUE(server.command({"GET", "a"}).nil());

  proxy.heal();
  EXPECT_TRUE(closed(busy)) << "a stream with a hole in it cannot go on";
  EXPECT_EQ(idle.command({"PING"}), "PONG") << "this one has lost nothing";
}

TEST_F(tcp_proxy_test, cut_one_way_lets_the_other_pass) {
  redis_peek peek(proxy.port()), listener(proxy.port());
  listener.command({"SUBSCRIBE", "news"});
  proxy.cut_to_client();
  peek.send({"SET", "a", "1"});
  EXPECT_TRUE(eventually([&] { return server.command({"GET", "a"}) == "1"; }));
  EXPECT_TRUE(silent(peek));

  proxy.cut_to_server();
  redis_peek fresh(proxy.port());
  fresh.send({"SET", "a", "2"});
  EXPECT_TRUE(silent(fresh));
  EXPECT_EQ(server.command({"GET", "a"}), "1");
  server.command({"PUBLISH", "news", "hello"});
  EXPECT_EQ(listener.receive()[2], "hello");
}

TEST_F(tcp_proxy_test, held_bytes_arrive_late) {
  redis_peek peek(proxy.port());
  proxy.hold();
  peek.send({"INCR", "a"});
  EXPECT_TRUE(silent(peek));
  EXPECT_TRUE(server.command({"GET", "a"}).nil());
  proxy.heal();
  EXPECT_EQ(peek.receive(), 1);
}

TEST_F(tcp_proxy_test, a_lost_reply_was_still_carried_out) {
  redis_peek peek(proxy.port()), other(proxy.port());
  peek.command({"PING"});
  proxy.lose_next_reply();
  peek.send({"INCR", "a"});
  EXPECT_TRUE(closed(peek));
  EXPECT_EQ(server.command({"GET", "a"}), "1");
  EXPECT_EQ(other.command({"PING"}), "PONG") << "one reply, one connection";
  EXPECT_EQ(proxy.seen().replies_lost, 1U);
}

TEST_F(tcp_proxy_test, reset_ends_every_connection_and_no_future_one) {
  redis_peek peek(proxy.port());
  peek.command({"PING"});
  proxy.reset();
  EXPECT_TRUE(closed(peek));
  EXPECT_EQ(redis_peek(proxy.port()).command({"PING"}), "PONG");
}

TEST_F(tcp_proxy_test, refuses_while_not_accepting) {
  redis_peek peek(proxy.port());
  peek.command({"PING"});
  proxy.accepting(false);
  EXPECT_THROW(redis_peek(proxy.port()), std::runtime_error);
  EXPECT_EQ(peek.command({"PING"}), "PONG");
  proxy.accepting(true);
  EXPECT_EQ(redis_peek(proxy.port()).command({"PING"}), "PONG");
}

TEST_F(tcp_proxy_test, a_dead_server_closes_its_connections) {
  redis_peek peek(proxy.port());
  peek.command({"PING"});
  server.kill();
  EXPECT_TRUE(closed(peek));
  redis_peek vain(proxy.port());
  EXPECT_TRUE(closed(vain));
  server.restart();
  EXPECT_EQ(redis_peek(proxy.port()).command({"PING"}), "PONG");
}

}  // namespace
}  // namespace interlock::test_support
