// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <atomic>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(permits);

TEST_P(permits, a_store_without_permits_refuses_them) {
  if (store->traits().permits) GTEST_SKIP() << "it has permits";
  const auto reply = semaphore(store->connect(), "gate", 3).attempt({.wait = 0ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::unsupported);
}

TEST_P(permits, as_many_as_the_limit_are_held_and_the_next_is_busy) {
  INTERLOCK_NEEDS(permits);
  const semaphore gate(store->connect(), "gate", 3);
  std::vector<guard> held;
  for (int i = 0; i < 3; ++i) held.push_back(semaphore(store->connect(), "gate", 3).acquire({.wait = 0ms}));
  EXPECT_EQ(gate.available(), 0U);
  EXPECT_FALSE(gate.try_acquire());
  EXPECT_TRUE(held.back().release());
  EXPECT_EQ(gate.available(), 1U);
  EXPECT_TRUE(gate.try_acquire());
}

TEST_P(permits, several_permits_are_taken_in_one_go_or_not_at_all) {
  INTERLOCK_NEEDS(permits);
  const semaphore here(store->connect(), "gate", 5), there(store->connect(), "gate", 5);
  auto three = here.acquire({.permits = 3});
  EXPECT_FALSE(there.try_acquire({.permits = 3}));
  EXPECT_EQ(there.available(), 2U);
  const auto two = there.acquire({.permits = 2, .wait = 0ms});
  EXPECT_EQ(here.available(), 0U);
  EXPECT_EQ(store->inspect("gate").limit, 5U);
  EXPECT_TRUE(three.release());
  EXPECT_EQ(here.available(), 3U);
}

TEST_P(permits, small_requests_do_not_starve_a_big_one) {
  INTERLOCK_NEEDS(permits);
  INTERLOCK_NEEDS(fifo);
  const semaphore here(store->connect(), "gate", 3), there(store->connect(), "gate", 3);
  auto one = here.acquire();
  auto all = there.async_acquire({.permits = 3});
  ASSERT_TRUE(eventually([&] { return store->inspect("gate").waiters.size() == 1; }));
  EXPECT_FALSE(here.try_acquire()) << "two are free, but the big one came first";
  EXPECT_TRUE(one.release());
  EXPECT_TRUE(all.get().valid());
}

TEST_P(permits, never_more_than_the_limit_under_load) {
  INTERLOCK_NEEDS(permits);
  constexpr std::uint32_t limit = 3;
  std::atomic<std::uint32_t> inside{0}, most{0};
  std::vector<client> hosts;
  for (int i = 0; i < 2; ++i) hosts.push_back(store->connect());
  {
    std::vector<std::jthread> workers;
    for (std::uint32_t i = 0; i < 6; ++i)
      workers.emplace_back([&, i] {
        const semaphore gate(hosts[i % 2], "gate", limit);
        for (std::uint32_t round = 0; round < 8; ++round) {
          const std::uint32_t mine = 1 + (i + round) % 2;
          const auto held = gate.acquire({.permits = mine, .wait = 60s});
          const auto now = inside += mine;
          for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          std::this_thread::sleep_for(1ms);
          inside -= mine;
        }
      });
  }
  EXPECT_LE(most, limit);
  EXPECT_GE(most, 2U) << "permits that exclude each other are a mutex";
  EXPECT_TRUE(becomes_free("gate"));
}

TEST_P(permits, another_limit_is_refused_while_the_semaphore_is_in_use) {
  INTERLOCK_NEEDS(permits);
  const auto first = store->connect(), second = store->connect();
  auto held = semaphore(first, "gate", 3).acquire();
  const auto other = semaphore(second, "gate", 4).attempt({.wait = 0ms});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(), errc::invalid_argument);
  const auto as_lock = second.attempt("gate", {.wait = 0ms});
  ASSERT_FALSE(as_lock);
  EXPECT_EQ(as_lock.error(), errc::invalid_argument);
  EXPECT_EQ(store->inspect("gate").holders.size(), 1U);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(semaphore(second, "gate", 4).try_acquire());
}

TEST_P(permits, impossible_numbers_are_refused_and_change_nothing) {
  INTERLOCK_NEEDS(permits);
  const auto locks = store->connect();
  EXPECT_THROW(semaphore(locks, "gate", 0), lock_error);
  EXPECT_THROW(semaphore(locks, "gate", std::uint32_t{1} << 31), lock_error);
  const semaphore gate(locks, "gate", 3);
  EXPECT_EQ(gate.attempt({.permits = 4}).error(), errc::invalid_argument);
  EXPECT_EQ(gate.attempt({.permits = 0}).error(), errc::invalid_argument);
  EXPECT_EQ(locks.attempt("plain", {.permits = 2}).error(), errc::invalid_argument);
  EXPECT_TRUE(store->survey().empty());
}

TEST_P(permits, a_dead_holders_permits_come_back_after_its_lease) {
  INTERLOCK_NEEDS(permits);
  auto dead = store->join();
  const semaphore gate(store->connect(), "gate", 2);
  const auto both = semaphore(dead.locks, "gate", 2).acquire({.lease = store->short_lease(), .permits = 2});
  dead.link->cut();
  const auto held = gate.acquire({.permits = 2});
  EXPECT_FALSE(both.valid());
  EXPECT_TRUE(held.valid());
}

}  // namespace interlock::inline v1::testing
