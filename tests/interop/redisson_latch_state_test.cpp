// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/redisson_table.hpp"
#include "support/eventually.hpp"

#include <interlock/latch.hpp>

/// RCountDownLatch: the state after each of our operations is what Redisson would have left.
namespace interlock::test_support {
namespace {

const std::string latch_channel = "redisson_countdownlatch__channel__{go}";

class redisson_latch_state : public redisson_table {
 protected:
  void SetUp() override { open("object=lock"); }
  [[nodiscard]] latch go(std::uint32_t count) const { return {client(server.url("layout=redisson")), "go", count}; }
};

TEST_F(redisson_latch_state, one_that_is_not_there_is_open_and_nobody_sets_it_up_by_waiting) {
  const auto gate = go(2);
  EXPECT_TRUE(gate.try_wait());
  gate.wait();
  EXPECT_EQ(gate.attempt_count_down().error(), errc::invalid_argument);
  EXPECT_EQ(run({"DBSIZE"}), 0);
}

TEST_F(redisson_latch_state, setting_it_up_is_published_and_done_once) {
  listener ears(server, {latch_channel});
  EXPECT_TRUE(go(2).create());
  EXPECT_FALSE(go(2).create());
  EXPECT_EQ(run({"GET", "go"}), "2");
  EXPECT_EQ(left("go"), -1);
  EXPECT_EQ(ears.heard(1), messages{latch_channel + " 1"});
}

TEST_F(redisson_latch_state, on_the_way_down_nothing_is_published_and_at_zero_it_is_deleted) {
  run({"SET", "go", "3"});
  listener ears(server, {latch_channel});
  EXPECT_EQ(go(3).count_down(), 2U);
  EXPECT_EQ(run({"GET", "go"}), "2");
  EXPECT_EQ(go(3).count_down(2), 0U);
  EXPECT_EQ(run({"EXISTS", "go"}), 0);
  EXPECT_EQ(ears.heard(1), messages{latch_channel + " 0"});
  EXPECT_TRUE(go(3).try_wait());
}

TEST_F(redisson_latch_state, a_time_to_live_that_somebody_gave_it_stays) {
  run({"SET", "go", "3", "PX", "60000"});
  EXPECT_EQ(go(3).count_down(), 2U);
  EXPECT_GT(left("go"), 0);
}

TEST_F(redisson_latch_state, what_we_keep_beside_it_goes_away_by_itself) {
  run({"SET", "go", "1"});
  go(1).count_down();
  EXPECT_EQ(run({"DBSIZE"}), 1);
  EXPECT_GT(left("ilk1:r:m:{go}"), 0);
}

// What Redisson's countDown() does: decr, del at zero, publish '0'.
TEST_F(redisson_latch_state, a_waiter_of_ours_is_woken_by_redissons_message) {
  run({"SET", "go", "2"});
  auto wait = go(2).async_wait();
  ASSERT_TRUE(eventually([&] { return run({"PUBSUB", "NUMSUB", latch_channel})[1] == 1; }));
  run({"DECR", "go"});
  run({"DECR", "go"});
  run({"DEL", "go"});
  run({"PUBLISH", latch_channel, "0"});
  EXPECT_TRUE(wait.get_result());
}

TEST_F(redisson_latch_state, keys_of_locks_cannot_be_taken_for_latches) {
  for (const auto* name : {"redisson_lock_token:{orders}", "ilk1:r:b:{orders}", "{orders}:x:rwlock_timeout:1"}) {
    run({"SET", name, "7"});
    const latch wrong(client(server.url("layout=redisson")), name, 7);
    EXPECT_EQ(wrong.attempt_count_down().error(), errc::invalid_argument);
    EXPECT_EQ(wrong.attempt_wait(0ms).error(), errc::invalid_argument);
    EXPECT_EQ(run({"GET", name}), "7");
  }
  run({"HSET", "go", "owner", "1"});
  EXPECT_EQ(go(1).attempt_count_down().error(), errc::unsupported);
  EXPECT_EQ(run({"TYPE", "go"}), "hash");
  run({"DEL", "go"});
  run({"SET", "go", "words"});
  EXPECT_EQ(go(1).attempt_count_down().error(), errc::unsupported);
  EXPECT_EQ(run({"GET", "go"}), "words");
}

}  // namespace
}  // namespace interlock::test_support

#endif
