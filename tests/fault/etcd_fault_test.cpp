// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "support/agent.hpp"
#include "support/etcd_server.hpp"
#include "support/eventually.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

/// etcd's own troubles, on real servers: members that die, freeze or lose each other, leases and logins that end.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

client patient(const std::string& url) { return client(url, {.patience = 20s}); }

TEST(etcd_fault_test, holders_and_waiters_ride_through_the_death_of_the_leader) {
  etcd_server servers({.members = 3});
  const auto first = patient(servers.url("", "timeout=1s")), second = patient(servers.url("", "timeout=1s"));
  auto held = first.acquire("orders", {.lease = 15s});
  auto wait = second.async_acquire("orders");
  ASSERT_TRUE(eventually([&] { return first.inspect("orders").waiters.size() == 1; }));
  servers.kill(servers.leader());
  const auto reply = first.attempt("other", {.wait = 20s});
  EXPECT_TRUE(reply) << reply.error().message();
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(wait.ready());
  const auto token = held.token();
  EXPECT_TRUE(held.release());
  const auto next = wait.get();
  EXPECT_TRUE(next.valid());
  EXPECT_GT(next.token(), token);
}

TEST(etcd_fault_test, a_frozen_member_costs_a_timeout_and_no_lock) {
  etcd_server servers({.members = 3});
  const auto locks = patient(servers.url("", "timeout=500ms"));
  auto held = locks.acquire("orders", {.lease = 10s});
  servers.freeze(0);  // the one it talks to
  const auto begin = std::chrono::steady_clock::now();
  const auto other = locks.attempt("stock", {.wait = 20s});
  EXPECT_TRUE(other) << other.error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  servers.thaw(0);
}

TEST(etcd_fault_test, a_minority_grants_nothing_and_holders_know_in_time) {
  etcd_server servers({.members = 3});
  const client locks(servers.url("", "timeout=500ms"), {.patience = 2s});
  const auto held = locks.acquire("orders", {.lease = 3s});
  servers.freeze(1);
  servers.freeze(2);
  const auto reply = locks.attempt("stock", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  servers.thaw(1);
  servers.thaw(2);
  EXPECT_TRUE(eventually([&] { return locks.attempt("stock", {.wait = 5s}).has_value(); }, 30s));
}

TEST(etcd_fault_test, a_compaction_does_not_disturb_a_waiter) {
  etcd_server server;
  const client first(server.url()), second(server.url());
  auto held = first.acquire("orders");
  auto wait = second.async_acquire("orders");
  ASSERT_TRUE(eventually([&] { return first.inspect("orders").waiters.size() == 1; }));
  for (int i = 0; i < 20; ++i) server.control({"put", "noise", std::to_string(i)});
  const auto said = server.control({"get", "noise", "-w", "fields"});
  const auto at = said.find("\"Revision\" : ");
  ASSERT_NE(at, std::string::npos) << said;
  server.control({"compact", std::to_string(std::stoll(said.substr(at + 13)))});
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(wait.get().valid());
}

// Of the keys of a name, in order of creation, as etcdctl wants them.
std::vector<std::string> leases(const etcd_server& server, const std::string& name) {
  std::vector<std::string> out;
  const auto all = nlohmann::json::parse(
      server.control({"get", name + "/", "--prefix", "--sort-by=CREATE", "--order=ASCEND", "-w", "json"}));
  for (const auto& kv : all.at("kvs")) {
    std::ostringstream text;
    text << std::hex << kv.at("lease").get<std::int64_t>();
    out.push_back(text.str());
  }
  return out;
}

TEST(etcd_fault_test, a_holder_whose_lease_is_revoked_is_told_and_a_waiter_queues_again) {
  etcd_server server;
  const client first(server.url()), second(server.url()), third(server.url());
  const auto held = first.acquire("orders");
  auto wait = second.async_acquire("orders");
  ASSERT_TRUE(eventually([&] { return third.inspect("orders").waiters.size() == 1; }));
  const auto id = third.inspect("orders").waiters.at(0).id;
  const auto ids = leases(server, "orders");
  ASSERT_EQ(ids.size(), 2U);
  server.control({"lease", "revoke", ids[1]});
  ASSERT_TRUE(eventually([&] {
    const auto waiters = third.inspect("orders").waiters;
    return waiters.size() == 1 && waiters[0].id != id;
  })) << "its place was gone, so its claim is another one";
  EXPECT_FALSE(wait.ready());
  server.control({"lease", "revoke", ids[0]});
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 8s)) << "long before the lease of 30 s is over";
  EXPECT_EQ(held.why_lost(), loss_reason::store_reset);
  const auto next = wait.get();
  EXPECT_TRUE(next.valid());
  EXPECT_GT(next.token(), held.token());
}

TEST(etcd_fault_test, a_holder_outlives_a_restart_of_the_server) {
  etcd_server server;
  const auto locks = patient(server.url("", "timeout=500ms"));
  auto held = locks.acquire("orders", {.lease = 15s});
  server.restart(0);
  EXPECT_TRUE(locks.attempt("stock", {.wait = 10s}));
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
}

TEST(etcd_fault_test, a_server_that_is_not_there_is_unavailable_when_connecting) {
  reserved_port nobody;
  try {
    const client locks("etcd://127.0.0.1:" + std::to_string(nobody.number()));
    ADD_FAILURE() << "connected to nobody";
  } catch (const lock_error& error) {
    EXPECT_EQ(error.why().kind(), errc::unavailable) << error.what();
  }
}

TEST(etcd_fault_test, a_waiter_takes_over_from_a_holder_killed_with_minus_9) {
  etcd_server server;
  agent holder({"hold", server.url(), "orders", "2000"});
  ASSERT_TRUE(holder.after("held"));
  const client locks(server.url());
  EXPECT_FALSE(locks.try_acquire("orders"));
  holder.kill();
  const auto begin = std::chrono::steady_clock::now();
  const auto reply = locks.attempt("orders", {.wait = 30s});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 12s) << "a lease of 2 s";
}

TEST(etcd_fault_test, tls_checks_both_sides) {
  const auto& all = certificates::get();
  etcd_server server({.tls = all.good, .mutual = true});
  const auto ca = "tls_ca=" + all.good.authority.string();
  const auto mine = "&tls_cert=" + all.good.file.string() + "&tls_key=" + all.good.key.string();
  const client locks(server.url("", ca + mine));
  EXPECT_TRUE(locks.acquire("orders").valid());
  for (const auto& wrong : {ca, "tls_ca=" + all.stranger.authority.string() + mine})
    EXPECT_THROW(client(server.url("", wrong)), lock_error) << wrong;
}

TEST(etcd_fault_test, a_certificate_for_another_host_or_of_yesterday_is_refused) {
  const auto& all = certificates::get();
  for (const auto* wrong : {&all.wrong_host, &all.expired}) {
    etcd_server server({.tls = *wrong});
    EXPECT_THROW(client(server.url("", "tls_ca=" + wrong->authority.string())), lock_error);
  }
}

store_check found_by_doctor(const client& locks, const std::string& check) {
  for (auto& one : locks.examine())
    if (one.check == check) return one;
  return {};
}

TEST(etcd_fault_test, a_login_that_ran_out_is_renewed_in_the_middle_of_a_wait) {
  etcd_server server({.arguments = {"--auth-token-ttl=1"}});
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"user", "add", "root:rootpw"},
           {"user", "grant-role", "root", "root"},
           {"role", "add", "locker"},
           {"role", "grant-permission", "--prefix=true", "locker", "readwrite", "locks/"},
           {"user", "add", "ann:secret"},
           {"user", "grant-role", "ann", "locker"},
           {"role", "add", "onlooker"},
           {"role", "grant-permission", "--prefix=true", "onlooker", "read", "locks/"},
           {"user", "add", "eve:secret"},
           {"user", "grant-role", "eve", "onlooker"},
           {"auth", "enable"}})
    try {
      server.control(words);
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()).find("already exists") == std::string::npos) throw;
    }
  const auto at = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_THROW(client("etcd://" + at + "/locks"), lock_error) << "nobody in particular";
  EXPECT_THROW(client("etcd://ann:wrong@" + at + "/locks"), lock_error);
  EXPECT_THROW(client("etcd://ann:secret@" + at + "/elsewhere"), lock_error) << "no right to that prefix";
  const client first("etcd://ann:secret@" + at + "/locks"), second("etcd://ann:secret@" + at + "/locks");
  EXPECT_EQ(found_by_doctor(first, "rights").is, store_check::verdict::ok) << found_by_doctor(first, "rights").seen;
  const auto onlooker = found_by_doctor(client("etcd://eve:secret@" + at + "/locks"), "rights");
  EXPECT_EQ(onlooker.is, store_check::verdict::fail) << onlooker.seen;
  EXPECT_NE(onlooker.seen.find("permission denied"), std::string::npos) << onlooker.seen;
  auto held = first.acquire("orders", {.lease = 3s});
  auto wait = second.async_acquire("orders", {.lease = 3s});
  std::this_thread::sleep_for(4s);
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(wait.ready());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(wait.get().valid());
}

TEST(etcd_fault_test, doctor_sees_the_members_and_what_is_wrong) {
  etcd_server servers({.members = 3});
  const client locks(servers.url("", "timeout=500ms"));
  const auto find = [&](const std::string& check) { return found_by_doctor(locks, check); };
  EXPECT_EQ(find("server").is, store_check::verdict::ok);
  EXPECT_TRUE(servers.control({"endpoint", "status"}).find(find("server").seen.substr(5)) != std::string::npos)
      << find("server").seen;
  EXPECT_EQ(find("leases").is, store_check::verdict::ok);
  EXPECT_NE(find("leases").seen.find("shortest lease is 2 s"), std::string::npos) << find("leases").seen;
  EXPECT_EQ(find("rights").is, store_check::verdict::ok) << find("rights").seen;
  EXPECT_EQ(find("tls").is, store_check::verdict::warn);
  EXPECT_EQ(find("members").is, store_check::verdict::ok) << find("members").seen;
  EXPECT_EQ(find("leader").is, store_check::verdict::ok);
  EXPECT_EQ(find("alarm").is, store_check::verdict::ok);
  EXPECT_EQ(find("endpoints").is, store_check::verdict::ok) << find("endpoints").seen;
  servers.kill(2);
  EXPECT_TRUE(eventually([&] { return find("endpoints").is == store_check::verdict::warn; }));
}

}  // namespace
}  // namespace interlock

#endif
