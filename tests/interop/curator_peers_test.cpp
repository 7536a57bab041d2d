// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "interop/zookeeper_peers.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

/// The real Curator and interlock on the same nodes: Debian's, or by ./dev interop curator a newer one. Time limits are
/// for "never", not for "late".
namespace interlock::interop {
namespace {

using namespace std::chrono_literals;
using test_support::agent;
using test_support::eventually;

struct curator_peers : ::testing::Test {
  agent theirs(const std::string& verb, const std::string& kind, const std::vector<std::string>& more = {}) const {
    const char* newer = std::getenv("INTERLOCK_CURATOR_PEER");
    std::vector<std::string> words;
    if (newer != nullptr)
      words = {"java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", newer, "Peer"};
    else
      words = {"/usr/bin/python3", std::string(INTERLOCK_SOURCE_DIR) + "/tests/interop/curator/curator_agent.py"};
    words.insert(words.end(), {verb, "127.0.0.1:" + std::to_string(server.port()), root + "/orders", kind});
    words.insert(words.end(), more.begin(), more.end());
    return {"/usr/bin/env", words};
  }
  [[nodiscard]] std::string url(const std::string& query = {}) const { return server.url(root + query); }
  [[nodiscard]] std::string tried(const std::string& kind) const { return theirs("try", kind).line(30s).value_or(""); }

  test_support::zookeeper_server& server = test_support::zookeeper_server::shared();
  const std::string root = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(curator_peers, nobody_loses_an_update_when_mutexes_of_both_sides_count_and_some_are_killed) {
  contend(url(),
          [&](const std::string& verb, const std::vector<std::string>& more) { return theirs(verb, "mutex", more); });
}

TEST_F(curator_peers, nobody_loses_an_update_when_write_locks_of_both_sides_count_and_some_are_killed) {
  contend(url("?object=rw"),
          [&](const std::string& verb, const std::vector<std::string>& more) { return theirs(verb, "write", more); });
}

TEST_F(curator_peers, nobody_loses_an_update_when_latches_of_both_sides_count_and_some_are_killed) {
  contend(url("?object=latch"),
          [&](const std::string& verb, const std::vector<std::string>& more) { return theirs(verb, "latch", more); });
}

TEST_F(curator_peers, leader_latches_and_ours_have_one_leader_at_a_time) {
  const client locks(url("?object=latch"));
  auto leads = locks.acquire("orders");
  EXPECT_EQ(tried("latch"), "busy");
  auto next = theirs("hold", "latch");
  ASSERT_TRUE(eventually([&] { return locks.inspect("orders").waiters.size() == 1; }));
  EXPECT_TRUE(leads.release());
  ASSERT_TRUE(next.after("held", 30s));
  EXPECT_FALSE(locks.try_acquire("orders"));
  next.kill();
  EXPECT_TRUE(locks.attempt("orders", {.wait = 30s})) << "its session is over some time";
}

TEST_F(curator_peers, readers_of_both_sides_read_together_and_exclude_writers) {
  const client locks(url("?object=rw"));
  const acquire_options reading{.mode = lock_mode::shared, .wait = 0ms};
  {
    const auto reads = locks.acquire("orders", reading);
    EXPECT_EQ(tried("read"), "held");
    EXPECT_EQ(tried("write"), "busy");
  }
  auto reader = theirs("hold", "read");
  ASSERT_TRUE(reader.after("held", 30s));
  EXPECT_TRUE(locks.attempt("orders", reading));
  EXPECT_FALSE(locks.try_acquire("orders"));
  reader.end_input();
  EXPECT_EQ(reader.wait(), 0);
  auto writer = theirs("hold", "write");
  ASSERT_TRUE(writer.after("held", 30s));
  EXPECT_FALSE(locks.attempt("orders", reading));
  auto next = locks.async_acquire("orders", {.mode = lock_mode::shared});
  writer.end_input();
  EXPECT_TRUE(next.get().valid());
}

TEST_F(curator_peers, permits_of_both_sides_are_counted_together) {
  const client locks(url());
  const semaphore gate(locks, "orders", 2);
  auto one = gate.acquire();
  auto two = theirs("hold", "permit:2");
  ASSERT_TRUE(two.after("held", 30s));
  EXPECT_FALSE(gate.try_acquire());
  EXPECT_EQ(tried("permit:2"), "busy");
  auto waits = gate.async_acquire();
  EXPECT_FALSE(waits.ready());
  two.end_input();
  auto three = waits.get();
  EXPECT_TRUE(one.release());
  EXPECT_EQ(tried("permit:2"), "held");
  EXPECT_TRUE(three.release());
  auto dies = theirs("hold", "permit:2");
  ASSERT_TRUE(dies.after("held", 30s));
  dies.kill();
  const auto all = gate.attempt({.permits = 2, .wait = 30s});
  EXPECT_TRUE(all) << "a dead process's permit comes back";
}

TEST_F(curator_peers, nobody_loses_an_update_when_everybody_wants_the_only_permit_and_a_holder_is_killed) {
  constexpr int rounds = 30;
  const test_support::temporary_folder folder("interop");
  const auto file = (folder.path() / "counter").string();
  std::ofstream(file) << 0;
  const client locks(url());
  auto gate = semaphore(locks, "orders", 1).acquire();
  std::vector<agent> all;
  for (int i = 0; i < 2; ++i) all.push_back(theirs("count", "permit:1", {file, std::to_string(rounds)}));
  auto dies = theirs("hold", "permit:1");
  const auto ours = [&] {
    const client mine(url());
    const semaphore only(mine, "orders", 1);
    for (int i = 0; i < rounds; ++i) {
      const auto held = only.attempt({.wait = 60s});  // reading and writing are two steps on purpose
      EXPECT_TRUE(held) << held.error().message();
      if (!held) return;
      int number = 0;
      std::ifstream(file) >> number;
      std::this_thread::sleep_for(1ms);
      std::ofstream(file) << number + 1;
    }
  };
  std::thread one(ours), two(ours);
  EXPECT_TRUE(eventually([&] { return locks.inspect("orders").waiters.size() == 5; }));
  EXPECT_TRUE(gate.release());
  EXPECT_TRUE(dies.after("held", 60s));
  dies.kill();
  one.join();
  two.join();
  for (auto& each : all) {
    while (each.line(60s)) {
    }
    EXPECT_EQ(each.wait(), 0);
  }
  int number = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, 4 * rounds) << "somebody overwrote somebody else's number";
}

TEST_F(curator_peers, a_mutex_and_a_read_write_lock_on_one_path_are_refused_and_not_ignored) {
  auto writer = theirs("hold", "write");
  ASSERT_TRUE(writer.after("held", 30s));
  const auto reply = client(url()).attempt("orders", {.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::conflict) << reply.error().message();
}

}  // namespace
}  // namespace interlock::interop

#endif
