// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "support/agent.hpp"
#include "support/etcd_server.hpp"
#include "support/eventually.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

/// A cluster that changes under its clients: members that come and go, disks that fill up, data that is lost.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

TEST(etcd_changes, a_lock_is_held_and_waited_for_while_members_are_replaced) {
  etcd_server servers({.arguments = {"--strict-reconfig-check=false"}, .members = 3});
  const client first(servers.url("", "timeout=1s"), {.patience = 20s});
  const client second(servers.url("", "timeout=1s"), {.patience = 20s});
  auto held = first.acquire("orders", {.lease = 20s});
  auto wait = second.async_acquire("orders");
  ASSERT_TRUE(eventually([&] { return first.inspect("orders").waiters.size() == 1; }));
  servers.remove_member(0);  // the one they talk to
  servers.add_member();
  const auto other = first.attempt("stock", {.wait = 20s});
  EXPECT_TRUE(other) << other.error().message();
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(wait.ready());
  const auto token = held.token();
  EXPECT_TRUE(held.release());
  const auto next = wait.get();
  EXPECT_TRUE(next.valid());
  EXPECT_GT(next.token(), token);
}

TEST(etcd_changes, a_member_that_says_good_bye_costs_no_lock) {
  etcd_server servers({.members = 3});
  const client locks(servers.url("", "timeout=1s"), {.patience = 20s});
  auto held = locks.acquire("orders", {.lease = 15s});
  servers.process(0).stop();  // GOAWAY on every connection
  const auto begin = std::chrono::steady_clock::now();
  const auto other = locks.attempt("stock", {.wait = 20s});
  EXPECT_TRUE(other) << other.error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
}

TEST(etcd_changes, the_next_endpoint_is_tried_when_the_first_one_does_not_answer) {
  const reserved_port nobody;
  etcd_server server;
  const client locks("etcd://127.0.0.1:" + std::to_string(nobody.number()) +
                     ",127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(locks.acquire("orders").valid());
}

TEST(etcd_changes, a_server_that_has_lost_its_data_grants_nothing_to_those_who_knew_it) {
  for (const std::string as : {"", "another"}) {  // under its old name, which it computes again, and under another
    etcd_server server;
    const client locks(server.url("", "timeout=500ms"), {.patience = 1s});
    for (int i = 0; i < 20; ++i) locks.acquire("before").release().value();
    const auto held = locks.acquire("orders", {.lease = 3s});
    server.restart_empty(as);
    const auto reply = locks.attempt("before", {.wait = 0ms});
    ASSERT_FALSE(reply) << "a token that was given before: " << reply->token().value();
    EXPECT_EQ(reply.error(), errc::unavailable) << reply.error().message();
    EXPECT_NE(reply.error().message().find("another cluster"), std::string::npos) << reply.error().message();
    EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 10s));
    const client anew(server.url());
    EXPECT_TRUE(anew.acquire("orders").valid()) << "whoever did not know it before";
  }
}

TEST(etcd_changes, without_space_nothing_is_granted_but_holders_stay_and_release) {
  etcd_server server({.arguments = {"--quota-backend-bytes=200000"}});
  const client locks(server.url("", "timeout=1s"), {.patience = 1s});
  auto held = locks.acquire("orders", {.lease = 2s});
  const auto fill = [&] { server.control({"put", "noise", std::string(60'000, 'x')}); };
  EXPECT_THROW(for (int i = 0; i < 50; ++i) fill(), std::runtime_error);
  const auto reply = locks.attempt("stock", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::unavailable) << reply.error().message();
  EXPECT_NE(reply.error().message().find("space"), std::string::npos) << reply.error().message();
  bool raised = false;
  for (const auto& one : locks.examine())
    raised = raised || (one.check == "alarm" && one.is == store_check::verdict::fail && one.seen == "NOSPACE");
  EXPECT_TRUE(raised) << "interlock doctor says so";
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(held.valid()) << "renewals need no space";
  EXPECT_TRUE(held.release());
}

/// A file system of its own for one server, which others can fill through /proc.
class full_disk : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = server.folder() / "disk";
    std::filesystem::create_directory(folder);
    const auto at = "http://127.0.0.1:" + std::to_string(port.number());
    const auto peer = "http://127.0.0.1:" + std::to_string(peers.number());
    // Files of the log are made in advance, 64 MB each; what follows is room for the rest.
    server.start({"--mount", "/bin/sh", "-c",
                  "mount -t tmpfs -o size=140m none " + folder.string() + " || exit 77; exec etcd --data-dir=" +
                      folder.string() + "/data --listen-client-urls=" + at + " --advertise-client-urls=" + at +
                      " --listen-peer-urls=" + peer + " --initial-advertise-peer-urls=" + peer +
                      " --initial-cluster=default=" + peer + " --logger=zap --log-level=error"});
    try {
      server.await("ready", [&] {
        const auto ask = "exec etcdctl --endpoints=" + at + " --command-timeout=1s endpoint health >/dev/null 2>&1";
        return agent("/bin/sh", {"-c", ask}).wait() == 0;
      });
    } catch (const std::runtime_error&) {
      if (server.running()) throw;
      GTEST_SKIP() << "no right to mount anything here";
    }
    disk = "/proc/" + std::to_string(server.pid()) + "/root" + folder.string();
  }

  reserved_port port, peers;
  server_process server{"unshare"};
  std::string disk;
};

TEST_F(full_disk, ends_the_server_and_nobody_is_granted_anything) {
  const client locks("etcd://127.0.0.1:" + std::to_string(port.number()) + "?timeout=500ms", {.patience = 1s});
  const auto held = locks.acquire("orders", {.lease = 3s});
  {
    std::ofstream filler(disk + "/filler", std::ios::binary);
    const std::string some(1 << 20, 'x');
    while (filler.write(some.data(), static_cast<std::streamsize>(some.size())).flush()) {
    }
  }
  ASSERT_TRUE(eventually(
      [&] {
        static_cast<void>(locks.attempt("stock", {.wait = 0ms}));  // writes, as long as it can
        return !server.running();
      },
      30s))
      << "it goes on without a disk";
  const auto reply = locks.attempt("stock", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(reply.error() == errc::unavailable || reply.error() == errc::indeterminate) << reply.error().message();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 10s));
}

}  // namespace
}  // namespace interlock

#endif
