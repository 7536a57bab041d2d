// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/doctor.hpp"
#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_server.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// What a client's connections are: how many, how the kernel treats them, in which protocol and database they speak.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

const redis_options counted_user{.users = {"counted on >secret ~* &* +@all"}};

std::string counted_url(const redis_server& server, const std::string& query = {}) {
  return "redis://counted:secret@127.0.0.1:" + std::to_string(server.port()) + (query.empty() ? "" : "?" + query);
}

/// As the server lists them; replicas and we ourselves are other users.
int count_connections(const redis_server& server) {
  const auto listed = server.command({"CLIENT", "LIST"}).text;
  int out = 0;
  for (auto at = listed.find(" user=counted"); at != listed.npos; at = listed.find(" user=counted", at + 1)) ++out;
  return out;
}

/// Whether it made a second connection for any of the things that clients do; and has as many to the end.
void expect_connections(const redis_server& server, const std::string& query, int expected) {
  const client locks(counted_url(server, query)), other(server.url());
  EXPECT_EQ(count_connections(server), expected) << query;
  auto held = locks.acquire("a", lease_of(900ms));
  auto taken = other.acquire("b", lease_of(20s));
  auto waiting = locks.async_acquire("b", lease_of(20s));
  EXPECT_TRUE(eventually([&] { return !other.inspect("b").waiters.empty(); }, 5s));
  const auto renewed = server.commandstats()["evalsha"].calls + 4;
  EXPECT_TRUE(eventually([&] { return server.commandstats()["evalsha"].calls >= renewed; }, 5s));
  EXPECT_EQ(count_connections(server), expected) << query;
  EXPECT_TRUE(taken.release());
  EXPECT_TRUE(waiting.get_result());
  EXPECT_TRUE(held.release());
  EXPECT_EQ(count_connections(server), expected) << query;
}

TEST(redis_connections, one_does_for_asking_renewing_waiting_and_being_told) {
  const redis_server server(counted_user);
  expect_connections(server, "", 1);
  EXPECT_TRUE(eventually([&] { return count_connections(server) == 0; }, 5s)) << "and none is left behind";
}

TEST(redis_connections, are_two_where_questions_and_news_cannot_share_one) {
  const redis_server server(counted_user);
  expect_connections(server, "protocol=2", 2);
}

TEST(redis_connections, are_two_where_replicas_are_waited_for) {
  redis_replicas servers(1, counted_user);
  expect_connections(servers.master(), "replicas=1", 2);
}

/// Of this process's connection to that port: an option of TCP.
std::optional<int> option_to(int port, int level, int option) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sin_family != AF_INET ||
        ntohs(peer.sin_port) != port)
      continue;
    int value = 0;
    size = sizeof value;
    if (::getsockopt(socket, level, option, &value, &size) == 0) return value;
  }
  return std::nullopt;
}

// Else a connection whose other end has vanished is found out by the kernel after a quarter of an hour.
TEST(redis_connections, are_given_up_by_the_kernel_as_soon_as_a_request_is) {
  const redis_server server;
  const client usual(server.url());
  EXPECT_EQ(option_to(server.port(), IPPROTO_TCP, TCP_USER_TIMEOUT), 2000);
  EXPECT_EQ(option_to(server.port(), IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option_to(server.port(), SOL_SOCKET, SO_KEEPALIVE), 1);
  const redis_server other;
  const client hasty(other.url("timeout=300ms"));
  EXPECT_EQ(option_to(other.port(), IPPROTO_TCP, TCP_USER_TIMEOUT), 300);
}

// Redis 5 answers HELLO like this.
TEST(redis_old_protocol, is_spoken_with_a_server_that_does_not_know_hello) {
  const redis_server server({.config = {"rename-command HELLO \"\""}});
  const client locks(server.url()), other(server.url());
  auto held = locks.acquire("a", lease_of(900ms));
  EXPECT_FALSE(other.try_acquire("a"));
  auto waiting = other.async_acquire("a", lease_of(20s));
  EXPECT_TRUE(eventually([&] { return !locks.inspect("a").waiters.empty(); }, 5s));
  const auto renewals = server.commandstats()["evalsha"].calls + 6;
  EXPECT_TRUE(eventually([&] { return server.commandstats()["evalsha"].calls >= renewals; }, 5s));
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  const auto from = std::chrono::steady_clock::now();
  EXPECT_TRUE(waiting.get_result());
  EXPECT_LT(std::chrono::steady_clock::now() - from, 3s) << "it is told";
  EXPECT_THAT(diagnosis(locks, "server"), ::testing::HasSubstr("RESP2"));
}

TEST(redis_old_protocol, a_password_is_said_the_old_way_too) {
  const redis_server server({.config = {"rename-command HELLO \"\""}, .password = "sesame"});
  EXPECT_TRUE(client(server.url()).try_acquire("a"));
  const auto wrong = client::connect("redis://:nonsense@127.0.0.1:" + std::to_string(server.port()));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), errc::denied) << wrong.error().message();
}

/// The keys in one of the server's databases.
std::size_t keys_in(const redis_server& server, int database) {
  auto peek = server.connect();
  peek.command({"SELECT", std::to_string(database)});
  return static_cast<std::size_t>(peek.command({"DBSIZE"}).number);
}

TEST(redis_database, the_chosen_one_has_the_locks_and_no_other) {
  const redis_server server;
  const auto at = "redis://127.0.0.1:" + std::to_string(server.port());
  const client five(at + "/5"), six(server.unix_url("db=6")), zero(at);
  const auto held = five.acquire("a", lease_of(20s));
  EXPECT_EQ(keys_in(server, 5), 1U);
  EXPECT_EQ(keys_in(server, 0), 0U);
  EXPECT_FALSE(client(at + "?db=5").try_acquire("a"));
  EXPECT_TRUE(six.try_acquire("a")) << "a name is another one in another database";
  EXPECT_TRUE(zero.try_acquire("a"));
  EXPECT_EQ(keys_in(server, 6), 1U);
  for (const auto* type : {"normal", "pubsub"}) server.command({"CLIENT", "KILL", "TYPE", type});
  EXPECT_TRUE(eventually([&] { return five.attempt("b", {.wait = 1s}).has_value(); }, 10s));
  EXPECT_EQ(keys_in(server, 0), 1U) << "nor over the next connection";
  const auto none = client::connect(at + "/99");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), errc::invalid_argument) << none.error().message();
}

}  // namespace
}  // namespace interlock

#endif
