// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MEMCACHED

#include "support/doctor.hpp"
#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/memcached_server.hpp"
#include "support/tcp_proxy.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

/// What can happen to a Memcached server and the way to it.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::diagnosis;
using test_support::eventually;
using test_support::lease_of;
using test_support::memcached_server;
using test_support::tcp_proxy;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST(memcached_fault, a_full_memory_that_throws_nothing_out_is_unavailable_and_not_busy) {
  memcached_server server({"-M"});
  const client locks(server.url("patience=300ms"));
  auto held = locks.acquire("held");
  const std::string big(500'000, 'x');
  for (int i = 0; i < 100; ++i)
    static_cast<void>(server.ask("ms big" + std::to_string(i) + " 500000\r\n" + big + "\r\n"));
  result<guard> last = failure(errc::internal);
  std::vector<guard> all;
  for (int i = 0; i < 100'000; ++i) {
    last = locks.attempt("small/" + std::to_string(i));
    if (!last) break;
    all.push_back(std::move(*last));
  }
  ASSERT_FALSE(last) << "there is still room";
  EXPECT_EQ(last.error(), errc::unavailable) << last.error().message();
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
}

TEST(memcached_fault, locks_that_a_full_memory_threw_out_are_lost_and_doctor_counts) {
  memcached_server server;
  const client locks(server.url());
  const auto held = locks.acquire("held", lease_of(2s));
  // Memcached keeps items of about the same size together, and throws out among them.
  for (const int size : {60, 90, 120, 160}) {
    const std::string line =
        " " + std::to_string(size) + " q\r\n" + std::string(static_cast<std::size_t>(size), 'x') + "\r\n";
    std::string many;
    for (int i = 0; i < 150'000; ++i) many += "ms " + std::to_string(size) + "/" + std::to_string(i) + line;
    static_cast<void>(server.ask(many));
  }
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::lost; }, 5s));
  EXPECT_THAT(diagnosis(server.url(), "eviction"), HasSubstr("were thrown out of a full memory"));
}

TEST(memcached_fault, a_unix_socket_is_a_way_too_and_doctor_says_why_it_is_best_effort) {
  test_support::server_process server("memcached");
  const auto at = server.folder() / "s";
  server.start({"-u", "root", "-s", at.string()});
  server.await("ready", [&] { return client::connect("memcached:" + at.string()).has_value(); });
  const client locks("memcached:" + at.string()), other("memcached:" + at.string());
  auto held = locks.acquire("a");
  EXPECT_FALSE(other.try_acquire("a"));
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(other.try_acquire("a"));
  EXPECT_THAT(diagnosis(locks, "durability"), HasSubstr("restart forgets every lock"));
  EXPECT_THAT(diagnosis(locks, "eviction"), StartsWith("ok: none so far"));
}

TEST(memcached_tls, works_and_accepts_no_certificate_but_a_good_one) {
  const auto& known = test_support::certificates::get();
  const auto trusting = "tls_ca=" + known.good.authority.string();
  const memcached_server good(&known.good);
  const client locks(good.tls_url(trusting));
  auto held = locks.acquire("a");
  EXPECT_TRUE(good.item("a").has_value());
  EXPECT_FALSE(client(good.url()).try_acquire("a").has_value()) << "the same server, without TLS";
  EXPECT_TRUE(held.release());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(locks.acquire("a").release());
  for (const auto* bad : {&known.expired, &known.wrong_host, &known.stranger}) {
    const memcached_server server(bad);
    const auto refused = client::connect(server.tls_url(trusting));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("certificate"), std::string::npos) << refused.error().message();
  }
  EXPECT_FALSE(
      client::connect("memcacheds://127.0.0.1:" + std::to_string(good.port()) + "?connect_timeout=500ms&" + trusting))
      << "that port speaks no TLS";
}

// As tooz 9.0 leaves it: the owner's name, with the flag for bytes.
TEST(memcached_tooz, meets_its_items_and_leaves_such) {
  memcached_server server;
  const client locks(server.url("layout=tooz"));
  ASSERT_EQ(server.ask("ms __TOOZ_LOCK_job 7 ME F1 T30\r\nworker1\r\n"), "HD\r\n");
  EXPECT_FALSE(locks.try_acquire("job"));
  const auto seen = locks.inspect("job").holders;
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].program, "worker1");
  ASSERT_EQ(server.ask("md __TOOZ_LOCK_job\r\n"), "HD\r\n");
  auto held = locks.acquire("job", lease_of(2s));
  const auto item = server.ask("mg __TOOZ_LOCK_job f s\r\n");
  EXPECT_EQ(item, "HD f1 s32\r\n") << "flags and size of its value";
  EXPECT_EQ(server.ask("ms __TOOZ_LOCK_job 7 ME F1 T30\r\nworker1\r\n"), "NS\r\n") << "tooz is kept out";
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(held.valid()) << "it was renewed";
  EXPECT_TRUE(held.release());
  EXPECT_EQ(server.ask("mg __TOOZ_LOCK_job v\r\n"), "EN\r\n");
}

TEST(memcached_tooz, refuses_what_its_items_cannot_say) {
  memcached_server server;
  const client locks(server.url("layout=tooz"));
  EXPECT_FALSE(locks.traits().tokens);
  EXPECT_EQ(locks.attempt("two words").error(), errc::invalid_argument);
  EXPECT_EQ(locks.attempt(std::string(239, 'x')).error(), errc::invalid_argument);
  EXPECT_TRUE(locks.attempt(std::string(238, 'x')));
  const auto held = locks.acquire("a");
  EXPECT_THROW(static_cast<void>(held.token()), lock_error);
  EXPECT_THROW(static_cast<void>(locks.evict("a", held.id())), lock_error);
  EXPECT_TRUE(locks.evict_by_force("a", held.id()));
}

TEST(memcached_url, mistakes_are_named) {
  for (const auto* url : {"memcached:", "memcached://a,b", "memcached://localhost/7", "memcached://localhost?tls=yes",
                          "memcached://localhost?tls_ca=x", "memcached://localhost?layout=other"}) {
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
