// SPDX-License-Identifier: MIT
#include "interop/redisson/meeting.hpp"
#include "support/agent.hpp"
#include "support/eventually.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

/// Each reader of a RReadWriteLock has a lease of its own, in a key of its own. What happens when it ends, and when
/// not.
namespace interlock::test_support {
namespace {

constexpr milliseconds reader_lease = 1500ms;
constexpr acquire_options write_now{.wait = 0ms}, read_for_short{.lease = reader_lease, .mode = lock_mode::shared};

class dying_readers : public meeting {
 protected:
  void SetUp() override { name = fresh_name(); }
  // What is left of each read hold, the shortest first.
  [[nodiscard]] std::vector<milliseconds> holds_left() const {
    std::vector<milliseconds> out;
    for (const auto& key : server().command({"KEYS", "{" + name + "}:*:rwlock_timeout:*"}).list)
      out.emplace_back(server().command({"PTTL", key.text}).number);
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string name;
};

TEST_F(dying_readers, a_redisson_that_is_killed_while_reading_keeps_our_writer_out_for_its_lease) {
  java_peer dies("single", server().port(), reader_lease);
  const client locks(url("rw"));
  ASSERT_EQ(dies.ask("a", "lock read " + name), "held");
  auto wait = locks.async_acquire(name, {.lease = 5s});
  ASSERT_TRUE(eventually([&] { return locks.inspect(name).waiters.size() == 1; }));
  std::this_thread::sleep_for(reader_lease);
  EXPECT_FALSE(wait.ready()) << "its watchdog renews it";
  dies.kill();
  milliseconds left{};
  const auto took = time_of([&] {
    left = time_left(server(), "read", name);
    EXPECT_TRUE(wait.get().valid());
  });
  EXPECT_GE(took, left - 50ms) << "not before the lease is over";
  EXPECT_LT(took, reader_lease + 5s);
}

TEST_F(dying_readers, an_interlock_that_is_killed_while_reading_keeps_redissons_writer_out_for_its_lease) {
  agent dies({"shared", url("rw"), name, std::to_string(reader_lease.count())});
  ASSERT_TRUE(dies.after("held"));
  java().tell("a", "lock write " + name);
  ASSERT_TRUE(java().waits("a", reader_lease + 300ms)) << "it is renewed";
  dies.kill();
  milliseconds left{};
  const auto took = time_of([&] {
    left = time_left(server(), "read", name);
    EXPECT_EQ(java().answer("a"), "held");
  });
  EXPECT_GE(took, left - 50ms) << "not before the lease is over";
  EXPECT_LT(took, reader_lease + 5s);
  EXPECT_EQ(java().ask("a", "unlock write " + name), "released");
}

TEST_F(dying_readers, a_killed_reader_ends_alone_whoever_else_reads) {
  java_peer theirs("single", server().port(), reader_lease), dies("single", server().port(), reader_lease);
  agent ours_dies({"shared", url("rw"), name, std::to_string(reader_lease.count())});
  ASSERT_TRUE(ours_dies.after("held"));
  const client locks(url("rw"));
  ASSERT_EQ(dies.ask("a", "lock read " + name), "held");
  ASSERT_EQ(theirs.ask("a", "lock read " + name), "held");
  auto mine = locks.acquire(name, read_for_short);
  EXPECT_EQ(holds_left().size(), 4U);
  dies.kill();
  ours_dies.kill();
  const auto end = std::chrono::steady_clock::now() + 2 * reader_lease;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_FALSE(locks.attempt(name, write_now));
    ASSERT_EQ(theirs.ask("b", "try write " + name), "busy");
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(theirs.ask("a", "mine read " + name), "yes");
  EXPECT_EQ(holds_left().size(), 2U) << "those of the dead are gone";
  EXPECT_TRUE(mine.release());
  EXPECT_FALSE(locks.attempt(name, write_now)) << "Redisson still reads";
  EXPECT_EQ(theirs.ask("a", "unlock read " + name), "released");
  EXPECT_TRUE(locks.attempt(name, write_now));
}

TEST_F(dying_readers, each_hold_of_a_redisson_that_reads_twice_is_renewed_over_several_leases_beside_ours) {
  java_peer theirs("single", server().port(), reader_lease);
  const client locks(url("rw"));
  ASSERT_EQ(theirs.ask("a", "lock read " + name), "held");
  ASSERT_EQ(theirs.ask("a", "lock read " + name), "held") << "twice, on one thread";
  const auto mine = locks.acquire(name, read_for_short);
  const auto end = std::chrono::steady_clock::now() + 3 * reader_lease;
  while (std::chrono::steady_clock::now() < end) {
    const auto left = holds_left();
    ASSERT_EQ(left.size(), 3U);
    ASSERT_GT(left.front(), 0ms);
    ASSERT_LE(left.back(), reader_lease);
    ASSERT_FALSE(locks.attempt(name, write_now));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(mine.valid());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(theirs.ask("a", "unlock read " + name), "released");
  EXPECT_EQ(holds_left().size(), 1U);
}

}  // namespace
}  // namespace interlock::test_support
