// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(standard_wrappers);

namespace {
template <class L>
concept timed_lockable = requires(L& lock) {
  lock.lock();
  lock.unlock();
  { lock.try_lock() } -> std::same_as<bool>;
  { lock.try_lock_for(1ms) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
};
template <class L>
concept shared_timed_lockable = timed_lockable<L> && requires(L& lock) {
  lock.lock_shared();
  lock.unlock_shared();
  { lock.try_lock_shared() } -> std::same_as<bool>;
  { lock.try_lock_shared_for(1ms) } -> std::same_as<bool>;
  { lock.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
static_assert(timed_lockable<mutex> && timed_lockable<recursive_mutex> && shared_timed_lockable<shared_mutex>);
static_assert(!std::is_copy_constructible_v<mutex> && !std::is_move_constructible_v<mutex>);
}  // namespace

TEST_P(standard_wrappers, scoped_lock_takes_several_and_frees_them) {
  const auto first = store->connect(), second = store->connect();
  mutex orders{first, "orders"}, stock{first, "stock"};
  {
    const std::scoped_lock both{orders, stock};
    EXPECT_TRUE(store->peek("orders"));
    EXPECT_TRUE(store->peek("stock"));
    EXPECT_TRUE(orders.hold().valid());
    EXPECT_FALSE(second.try_acquire("stock"));
  }
  EXPECT_TRUE(becomes_free("orders"));
  EXPECT_TRUE(becomes_free("stock"));
  EXPECT_EQ(orders.hold().state(), lock_state::empty);
}

TEST_P(standard_wrappers, scoped_locks_in_opposite_orders_do_not_deadlock) {
  const auto first = store->connect(), second = store->connect();
  mutex a1{first, "a"}, b1{first, "b"}, a2{second, "a"}, b2{second, "b"};
  std::atomic<int> inside{0}, meetings{0};
  const auto work = [&](mutex& left, mutex& right) {
    for (int round = 0; round < 8; ++round) {
      const std::scoped_lock both{left, right};
      if (++inside > 1) ++meetings;
      std::this_thread::yield();
      --inside;
    }
  };
  {
    std::jthread one([&] { work(a1, b1); }), two([&] { work(b2, a2); });
  }
  EXPECT_EQ(meetings, 0);
}

TEST_P(standard_wrappers, unique_lock_tries_waits_and_lets_go) {
  const auto first = store->connect(), second = store->connect();
  mutex mine{first, "orders"}, theirs{second, "orders"};
  std::unique_lock held{mine};
  EXPECT_FALSE(std::unique_lock(theirs, std::try_to_lock).owns_lock());
  EXPECT_FALSE(std::unique_lock(theirs, 50ms).owns_lock());
  EXPECT_FALSE(theirs.try_lock_until(std::chrono::system_clock::now() - 1s));
  EXPECT_FALSE(theirs.try_lock_for(-1s));
  held.unlock();
  std::unique_lock next(theirs, 20s);
  ASSERT_TRUE(next.owns_lock());
  EXPECT_TRUE(theirs.hold().valid());
}

TEST_P(standard_wrappers, lock_throws_busy_when_its_own_wait_runs_out) {
  const auto held = store->connect().acquire("orders");
  mutex hasty{store->connect(), "orders", {.wait = 50ms}};
  try {
    hasty.lock();
    FAIL() << "locked what another holds";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), errc::busy);
    EXPECT_EQ(error.code(), std::errc::device_or_resource_busy);
  }
}

TEST_P(standard_wrappers, an_outage_is_thrown_and_not_returned_as_false) {
  auto host = store->join({.patience = 200ms});
  mutex lock{host.locks, "orders"};
  host.link->cut();
  EXPECT_THROW(static_cast<void>(lock.try_lock()), lock_error);
}

TEST_P(standard_wrappers, a_mutex_can_be_locked_again_after_a_loss) {
  const auto locks = store->connect();
  mutex orders{locks, "orders", {.lease = store->short_lease()}};
  orders.lock();
  const auto first = orders.hold().id();
  store->steal("orders");
  EXPECT_TRUE(eventually([&] { return !orders.hold().valid(); }));
  orders.unlock();
  orders.lock();
  EXPECT_TRUE(orders.hold().valid());
  EXPECT_NE(orders.hold().id(), first);
  orders.unlock();
}

TEST_P(standard_wrappers, threads_that_share_one_mutex_object_exclude_each_other) {
  const auto locks = store->connect();
  mutex orders{locks, "orders"};
  std::atomic<int> counter{0};
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i)
      workers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          const std::lock_guard held{orders};
          const int seen = counter.load(std::memory_order_relaxed);
          std::this_thread::yield();
          counter.store(seen + 1, std::memory_order_relaxed);
        }
      });
  }
  EXPECT_EQ(counter, 80);
  EXPECT_TRUE(becomes_free("orders"));
}

TEST_P(standard_wrappers, shared_lock_reads_together_and_unique_lock_writes_alone) {
  INTERLOCK_NEEDS(shared);
  const auto first = store->connect(), second = store->connect();
  shared_mutex here{first, "orders"}, there{second, "orders"};
  {
    const std::shared_lock one{here}, two{here};
    const std::shared_lock three(there, std::try_to_lock);
    EXPECT_TRUE(three.owns_lock());
    EXPECT_FALSE(there.try_lock());
    EXPECT_FALSE(there.try_lock_for(20ms));
  }
  std::unique_lock writes(there, 20s);
  ASSERT_TRUE(writes.owns_lock());
  EXPECT_FALSE(here.try_lock_shared());
  EXPECT_FALSE(here.try_lock_shared_for(20ms));
  writes.unlock();
  EXPECT_TRUE(becomes_free("orders"));
}

TEST_P(standard_wrappers, a_shared_mutex_converts_the_hold_it_has) {
  INTERLOCK_NEEDS(convert);
  const auto first = store->connect(), second = store->connect();
  shared_mutex here{first, "orders"};
  here.lock_shared();
  EXPECT_TRUE(here.upgrade());
  EXPECT_TRUE(here.hold().valid());
  EXPECT_FALSE(second.try_acquire("orders", {.mode = lock_mode::shared}));
  EXPECT_TRUE(here.downgrade());
  EXPECT_TRUE(second.try_acquire("orders", {.mode = lock_mode::shared}));
  here.unlock_shared();
  EXPECT_TRUE(becomes_free("orders"));
}

}  // namespace interlock::inline v1::testing
