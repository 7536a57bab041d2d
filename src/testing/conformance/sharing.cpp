// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <atomic>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(sharing);

TEST_P(sharing, a_store_without_shared_mode_refuses_it) {
  if (store->traits().shared) GTEST_SKIP() << "it has shared mode";
  const auto reply = store->connect().attempt("orders/42", shared_now);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), errc::unsupported);
  EXPECT_FALSE(store->peek("orders/42"));
}

TEST_P(sharing, readers_of_many_hosts_read_together) {
  INTERLOCK_NEEDS(shared);
  std::vector<guard> readers;
  for (int i = 0; i < 4; ++i) {
    auto reply = store->connect().attempt("orders/42", shared_now);
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(reply->mode(), lock_mode::shared);
    readers.push_back(std::move(*reply));
  }
  EXPECT_EQ(store->inspect("orders/42").holders.size(), 4U);
}

TEST_P(sharing, readers_of_one_client_read_together) {
  INTERLOCK_NEEDS(shared);
  const auto locks = store->connect();
  const auto one = locks.acquire("orders/42", shared_now);
  const auto two = locks.acquire("orders/42", shared_now);
  EXPECT_TRUE(one.valid());
  EXPECT_TRUE(two.valid());
}

TEST_P(sharing, a_writer_excludes_readers_and_readers_exclude_a_writer) {
  INTERLOCK_NEEDS(shared);
  const auto first = store->connect(), second = store->connect();
  auto writes = first.acquire("orders/42");
  EXPECT_FALSE(second.try_acquire("orders/42", {.mode = lock_mode::shared}));
  EXPECT_TRUE(writes.release());
  auto reads = second.acquire("orders/42", shared_now);
  EXPECT_FALSE(first.try_acquire("orders/42"));
  EXPECT_TRUE(reads.release());
  EXPECT_TRUE(first.try_acquire("orders/42"));
}

TEST_P(sharing, a_reader_that_waits_is_not_let_in_beside_the_writer) {
  INTERLOCK_NEEDS(shared);
  const auto first = store->connect(), second = store->connect();
  auto writes = first.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(second, {.mode = lock_mode::shared});
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(wait.ready());
  EXPECT_TRUE(writes.release());
  EXPECT_TRUE(wait.get().valid());
}

TEST_P(sharing, readers_that_wait_are_let_in_together) {
  INTERLOCK_NEEDS(shared);
  auto writes = store->connect().acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  for (int i = 0; i < 3; ++i) line.add(store->connect(), {.mode = lock_mode::shared});
  EXPECT_TRUE(writes.release());
  std::vector<guard> readers;
  for (std::size_t i = 0; i < line.size(); ++i) readers.push_back(line[i].get());
  for (const auto& one : readers) EXPECT_TRUE(one.valid());
}

TEST_P(sharing, a_writer_is_not_starved_by_readers_that_keep_coming) {
  INTERLOCK_NEEDS(shared);
  INTERLOCK_NEEDS(fifo);
  const auto one = store->connect(), two = store->connect(), writer = store->connect();
  std::atomic<bool> stop{false};
  const auto read_on = [&](const client& locks) {
    while (!stop) {
      const auto held = locks.attempt("orders/42", {.mode = lock_mode::shared, .wait = 60s});
      std::this_thread::sleep_for(3ms);
    }
  };
  std::jthread first([&] { read_on(one); }), second([&] { read_on(two); });
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(writer.attempt("orders/42", {.wait = 20s}));
  stop = true;
}

TEST_P(sharing, the_readers_behind_a_writer_that_gives_up_are_let_in) {
  INTERLOCK_NEEDS(shared);
  INTERLOCK_NEEDS(fifo);
  const auto reads = store->connect().acquire("orders/42", shared_now);
  queue_of_waiters line(*store, "orders/42");
  std::stop_source change_of_mind;
  const auto writer = store->connect();
  auto writes = writer.async_acquire("orders/42", {}, change_of_mind.get_token());
  ASSERT_TRUE(eventually([&] { return store->inspect("orders/42").waiters.size() == 1; }));
  auto& behind = line.add(store->connect(), {.mode = lock_mode::shared});
  EXPECT_FALSE(behind.ready());
  change_of_mind.request_stop();
  EXPECT_EQ(writes.get_result().error(), errc::cancelled);
  EXPECT_TRUE(behind.get().valid());
  EXPECT_TRUE(reads.valid());
}

TEST_P(sharing, a_writer_meets_no_reader_and_no_writer_under_load) {
  INTERLOCK_NEEDS(shared);
  std::atomic<int> readers{0}, writers{0}, meetings{0};
  std::vector<client> hosts;
  for (int i = 0; i < 3; ++i) hosts.push_back(store->connect());
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < 6; ++i)
      workers.emplace_back([&, i] {
        for (unsigned round = 0; round < 12; ++round) {
          const bool writes = (i + round) % 3 == 0;
          auto held = hosts[i % 3].acquire("orders/42",
                                           {.mode = writes ? lock_mode::exclusive : lock_mode::shared, .wait = 60s});
          auto& mine = writes ? writers : readers;
          ++mine;
          if (writes ? (writers > 1 || readers > 0) : writers > 0) ++meetings;
          std::this_thread::yield();
          --mine;
        }
      });
  }
  EXPECT_EQ(meetings, 0);
}

}  // namespace interlock::inline v1::testing
