// SPDX-License-Identifier: MIT
#include "interop/redisson/meeting.hpp"
#include "support/eventually.hpp"

#include <atomic>
#include <thread>
#include <vector>

/// What is particular to one kind of object.
namespace interlock::test_support {
namespace {

constexpr acquire_options shared_now{.mode = lock_mode::shared, .wait = 0ms};

class fenced_with_redisson : public meeting {};

TEST_F(fenced_with_redisson, tokens_rise_from_one_to_the_other) {
  const client locks(url("fenced"));
  const auto name = fresh_name();
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    auto mine = locks.acquire(name);
    EXPECT_GT(mine.token().value(), last);
    last = mine.token().value();
    EXPECT_TRUE(mine.release());
    const auto said = java().ask("a", "lock fenced " + name);
    const auto theirs = std::stoull(said.substr(said.find(' ') + 1));
    EXPECT_GT(theirs, last) << said;
    last = theirs;
    EXPECT_EQ(java().ask("a", "unlock fenced " + name), "released");
  }
}

class readers_with_redisson : public meeting {
 protected:
  void SetUp() override { name = fresh_name(); }
  std::string ask(const std::string& thread, const std::string& what) { return java().ask(thread, what + " " + name); }
  std::string name;
};

TEST_F(readers_with_redisson, readers_of_both_read_together_and_keep_writers_of_both_out) {
  const client locks(url("rw"));
  ASSERT_EQ(ask("a", "lock read"), "held");
  auto mine = locks.attempt(name, shared_now);
  ASSERT_TRUE(mine) << mine.error().message();
  EXPECT_FALSE(locks.try_acquire(name));
  EXPECT_EQ(ask("b", "try write"), "busy");
  EXPECT_EQ(ask("b", "try read"), "held");
  EXPECT_EQ(ask("b", "unlock read"), "released");
  EXPECT_EQ(ask("a", "unlock read"), "released");
  EXPECT_TRUE(mine->valid());
}

TEST_F(readers_with_redisson, we_still_read_after_redissons_reader_has_left) {
  const client locks(url("rw"));
  ASSERT_EQ(ask("a", "lock read"), "held");
  auto mine = locks.acquire(name, {.lease = 1500ms, .mode = lock_mode::shared, .wait = 0ms});
  ASSERT_EQ(ask("a", "unlock read"), "released");
  const auto end = std::chrono::steady_clock::now() + 4s;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_EQ(ask("b", "try write"), "busy");
    ASSERT_TRUE(mine.valid());
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(mine.release());
  EXPECT_EQ(ask("b", "try write"), "held");
  EXPECT_EQ(ask("b", "unlock write"), "released");
}

TEST_F(readers_with_redisson, redissons_reader_still_reads_after_ours_has_left) {
  const client locks(url("rw"));
  auto mine = locks.acquire(name, shared_now);
  ASSERT_EQ(ask("a", "lock read"), "held");
  ASSERT_EQ(ask("a", "lock read"), "held") << "twice, on one thread";
  EXPECT_TRUE(mine.release());
  EXPECT_FALSE(locks.try_acquire(name));
  EXPECT_EQ(ask("a", "unlock read"), "released");
  EXPECT_FALSE(locks.try_acquire(name));
  EXPECT_EQ(ask("a", "mine read"), "yes");
  EXPECT_EQ(ask("a", "unlock read"), "released");
  EXPECT_TRUE(locks.try_acquire(name));
}

TEST_F(readers_with_redisson, a_writer_that_waits_is_woken_by_the_last_reader_of_the_other) {
  const client locks(url("rw"));
  {
    auto mine = locks.acquire(name, {.lease = long_lease, .mode = lock_mode::shared});
    java().tell("a", "lock write " + name);
    ASSERT_TRUE(java().waits("a", 300ms));
    ASSERT_TRUE(mine.release());
    EXPECT_LT(time_of([&] { EXPECT_EQ(java().answer("a"), "held"); }), promptly);
    EXPECT_EQ(ask("a", "unlock write"), "released");
  }
  ASSERT_EQ(ask("a", "lock read"), "held");
  auto wait = locks.async_acquire(name, {.lease = long_lease});
  ASSERT_TRUE(eventually([&] { return locks.inspect(name).waiters.size() == 1; }));
  std::this_thread::sleep_for(200ms);
  ASSERT_EQ(ask("a", "unlock read"), "released");
  EXPECT_LT(time_of([&] { EXPECT_TRUE(wait.get().release()); }), promptly);
}

TEST_F(readers_with_redisson, all_readers_that_wait_are_woken_by_the_writer_of_the_other) {
  const client locks(url("rw")), second(url("rw"));
  {
    auto mine = locks.acquire(name, {.lease = long_lease});
    for (const char* thread : {"a", "b"}) java().tell(thread, "lock read " + name);
    ASSERT_TRUE(java().waits("a", 300ms));
    ASSERT_TRUE(java().waits("b", 100ms));
    ASSERT_TRUE(mine.release());
    for (const char* thread : {"a", "b"}) {
      EXPECT_LT(time_of([&] { EXPECT_EQ(java().answer(thread), "held"); }), promptly);
      EXPECT_EQ(ask(thread, "unlock read"), "released");
    }
  }
  ASSERT_EQ(ask("a", "lock write"), "held");
  std::vector<pending<guard>> waits;
  for (const auto* from : {&locks, &locks, &second})
    waits.push_back(from->async_acquire(name, {.lease = long_lease, .mode = lock_mode::shared}));
  ASSERT_TRUE(eventually([&] { return locks.inspect(name).waiters.size() == 3; }));
  std::this_thread::sleep_for(200ms);
  ASSERT_EQ(ask("a", "unlock write"), "released");
  std::vector<guard> readers;
  EXPECT_LT(time_of([&] {
              for (auto& one : waits) readers.push_back(one.get());
            }),
            promptly);
}

TEST_F(readers_with_redisson, a_downgrade_of_ours_wakes_redissons_readers) {
  const client locks(url("rw"));
  auto mine = locks.acquire(name, {.lease = long_lease});
  java().tell("a", "lock read " + name);
  ASSERT_TRUE(java().waits("a", 300ms));
  ASSERT_TRUE(mine.downgrade());
  EXPECT_LT(time_of([&] { EXPECT_EQ(java().answer("a"), "held"); }), promptly);
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(ask("b", "try write"), "busy");
  EXPECT_EQ(ask("a", "unlock read"), "released");
}

class fair_with_redisson : public meeting {};

TEST_F(fair_with_redisson, everybody_is_served_in_order_of_arrival) {
  const auto name = fresh_name();
  const client locks(url("fair"));
  ASSERT_EQ(java().ask("a", "lock fair " + name), "held");
  const auto queued = [&](std::size_t many) {
    return eventually([&] { return locks.inspect(name).waiters.size() == many; });
  };
  const client first(url("fair")), third(url("fair")), fourth(url("fair"));
  auto one = first.async_acquire(name, {.lease = long_lease});
  ASSERT_TRUE(queued(1));
  java().tell("b", "lock fair " + name);
  ASSERT_TRUE(queued(2));
  auto three = third.async_acquire(name, {.lease = long_lease});
  ASSERT_TRUE(queued(3));
  auto four = fourth.async_acquire(name, {.lease = long_lease});
  ASSERT_TRUE(queued(4));
  java().tell("c", "lock fair " + name);
  ASSERT_TRUE(queued(5));

  ASSERT_EQ(java().ask("a", "unlock fair " + name), "released");
  auto held = one.get();
  EXPECT_TRUE(java().waits("b", 100ms));
  EXPECT_FALSE(three.ready());
  ASSERT_TRUE(held.release());
  EXPECT_EQ(java().answer("b", promptly), "held");
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(three.ready());
  ASSERT_EQ(java().ask("b", "unlock fair " + name), "released");
  held = three.get();
  EXPECT_FALSE(four.ready());
  ASSERT_TRUE(held.release());
  held = four.get();
  EXPECT_TRUE(java().waits("c", 100ms));
  ASSERT_TRUE(held.release());
  EXPECT_EQ(java().answer("c", promptly), "held");
  EXPECT_EQ(java().ask("c", "unlock fair " + name), "released");
}

class permits_with_redisson : public meeting {};

TEST_F(permits_with_redisson, both_share_one_number_of_permits) {
  const auto name = fresh_name();
  ASSERT_EQ(java().ask("a", "permits semaphore " + name + " 3"), "set");
  const semaphore gate(client(url("lock")), name, 3);
  ASSERT_EQ(java().ask("a", "lock semaphore " + name), "held");
  auto two = gate.acquire({.permits = 2, .wait = 0ms});
  EXPECT_EQ(gate.available(), 0U);
  EXPECT_FALSE(gate.try_acquire());
  EXPECT_EQ(java().ask("b", "try semaphore " + name), "busy");
  EXPECT_TRUE(two.release());
  EXPECT_EQ(java().ask("b", "try semaphore " + name), "held");
  EXPECT_EQ(gate.available(), 1U);
  for (const char* thread : {"a", "b"}) EXPECT_EQ(java().ask(thread, "unlock semaphore " + name), "released");
  EXPECT_EQ(gate.available(), 3U);
}

TEST_F(permits_with_redisson, a_semaphore_that_we_set_up_is_there_for_redisson) {
  const auto name = fresh_name();
  const semaphore gate(client(url("lock")), name, 2);
  const auto mine = gate.acquire();
  EXPECT_EQ(java().ask("a", "permits semaphore " + name + " 2"), "there");
  EXPECT_EQ(java().ask("a", "try semaphore " + name), "held");
  EXPECT_EQ(java().ask("b", "try semaphore " + name), "busy");
  EXPECT_EQ(java().ask("a", "unlock semaphore " + name), "released");
}

TEST_F(permits_with_redisson, never_more_than_the_limit_are_inside) {
  constexpr std::uint32_t limit = 3;
  constexpr int rounds = 30;
  const auto name = fresh_name(), counter = name + "/inside";
  ASSERT_EQ(java().ask("a", "permits semaphore " + name + " 3"), "set");
  for (const char* thread : {"a", "b", "c"})
    java().tell(thread, "inside semaphore " + name + " " + counter + " " + std::to_string(rounds));
  std::atomic<std::int64_t> most{0};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i)
    workers.emplace_back([&] {
      const semaphore gate(client(url("lock")), name, limit);
      auto redis = server().connect();
      for (int round = 0; round < rounds; ++round) {
        const auto held = gate.acquire({.wait = 60s});
        const auto now = redis.command({"INCR", counter}).number;
        for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        redis.command({"DECR", counter});
      }
    });
  for (const char* thread : {"a", "b", "c"}) {
    const auto said = java().answer(thread, 90s);
    ASSERT_TRUE(said.starts_with("most ")) << said;
    EXPECT_LE(std::stoll(said.substr(5)), limit);
  }
  workers.clear();
  EXPECT_LE(most, limit);
  EXPECT_EQ(server().command({"GET", name}), "3");
}

}  // namespace
}  // namespace interlock::test_support
