// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MEMCACHED

#include "support/eventually.hpp"
#include "support/memcached_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

/// What can happen to a Memcached server and the way to it.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::memcached_server;
using test_support::tcp_proxy;

acquire_options lease_of(milliseconds lease) {
  acquire_options out;
  out.lease = lease;
  return out;
}

TEST(memcached_fault, a_restart_loses_the_lock_and_says_so_and_tokens_rise) {
  memcached_server server;
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(3s));
  const auto token = held.token();
  server.restart();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 5s));
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("b").has_value(); }, 5s));
  EXPECT_GT(locks.acquire("a").token(), token);
}

TEST(memcached_fault, a_lock_that_was_thrown_out_is_not_revived) {
  memcached_server server;
  const client locks(server.url()), other(server.url());
  auto held = locks.acquire("a", lease_of(2s));
  ASSERT_EQ(server.ask("md ilk1ln:a\r\n"), "HD\r\n");
  const auto next = other.acquire("a");
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  EXPECT_GT(next.token(), held.token());
  EXPECT_FALSE(held.release().has_value());
  EXPECT_TRUE(next.valid()) << "a stale holder's release removed somebody else's lock";
  EXPECT_TRUE(server.item("a").has_value());
}

TEST(memcached_fault, a_silent_partition_is_a_loss_for_the_holder_before_another_is_granted) {
  memcached_server server;
  tcp_proxy network(server.port());
  const client cut_off(memcached_server::url_at(network.port())), other(server.url());
  auto held = cut_off.acquire("a", lease_of(1500ms));
  network.cut();
  acquire_options patient;
  patient.wait = 15s;
  const auto next = other.acquire("a", patient);
  EXPECT_FALSE(held.valid());
  EXPECT_GT(next.token(), held.token());
}

TEST(memcached_fault, a_lost_reply_to_a_grant_leads_to_one_owner) {
  memcached_server server;
  tcp_proxy network(server.port());
  const client locks(memcached_server::url_at(network.port()));
  for (int i = 0; i < 3; ++i) {
    network.lose_next_reply();
    auto reply = locks.attempt("a", {.wait = 5s});
    ASSERT_TRUE(reply) << reply.error().message();
    ASSERT_TRUE(reply->release());
    EXPECT_FALSE(server.item("a").has_value());
  }
  EXPECT_GT(network.seen().replies_lost, 0U);
}

TEST(memcached_fault, a_frozen_server_makes_a_holder_lose_its_lock_in_time) {
  memcached_server server;
  const client locks(server.url());
  auto held = locks.acquire("a", lease_of(1s));
  server.freeze();
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 3s));
  server.thaw();
  EXPECT_TRUE(eventually([&] { return locks.try_acquire("a").has_value(); }, 10s));
}

TEST(memcached_fault, a_password_is_asked_for_and_checked) {
  const test_support::temporary_folder folder("memcached-password");
  const auto file = folder.path() / "users";
  std::ofstream(file) << "me:open\n";
  std::filesystem::permissions(file, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
  memcached_server server({"-Y", file.string()});
  const auto at = "127.0.0.1:" + std::to_string(server.port());
  const auto nobody = client::connect("memcached://" + at);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().kind(), errc::denied) << nobody.error().message();
  const auto wrong = client::connect("memcached://me:shut@" + at);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), errc::denied);
  EXPECT_EQ(wrong.error().message().find("shut"), std::string::npos);
  EXPECT_TRUE(client("memcached://me:open@" + at).acquire("a").valid());
}

TEST(memcached_url, mistakes_are_named) {
  for (const auto* url :
       {"memcached:", "memcached://a,b", "memcached://localhost/7", "memcached://localhost?tls=yes"}) {
    const auto refused = client::connect(url);
    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.error().kind(), errc::invalid_argument) << url << ": " << refused.error().message();
  }
}

TEST(memcached_promise, is_best_effort_and_refuses_to_be_more) {
  memcached_server server;
  EXPECT_EQ(client(server.url()).traits().guarantee, guarantee::best_effort);
  EXPECT_FALSE(client::connect(server.url("require=fenced")));
}

}  // namespace
}  // namespace interlock

#endif
