// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/redisson_table.hpp"

#include <thread>

/// RReadWriteLock: the state after each of our operations is what Redisson would have left.
namespace interlock::test_support {
namespace {

using testing::convert;
using testing::enter;
using testing::fresh_claim;
using testing::leave;
using testing::look;
using testing::shared_claim;

const std::string rw_channel = "redisson_rwlock:{rw}";

class redisson_rw_state : public redisson_table {
 protected:
  void SetUp() override { open("object=rw"); }

  static std::string timeout(const std::string& owner, int hold = 1) {
    return "{rw}:" + owner + ":rwlock_timeout:" + std::to_string(hold);
  }
  /// Redisson takes the read lock once more.
  void java_reads(const std::string& who, const std::string& lease, int hold = 1) {
    state({{"HSET", "rw", "mode", "read"}, {"HINCRBY", "rw", who, "1"}, {"SET", timeout(who, hold), "1", "PX", lease}});
    if (left("rw") < std::stoll(lease)) run({"PEXPIRE", "rw", lease});
  }
  /// Redisson's reader lets go; `stays`: of those in the hash, the longest timeout key left.
  bool java_stops_reading(const std::string& who) {
    state({{"HDEL", "rw", who}, {"DEL", timeout(who)}});
    std::int64_t most = -2;
    const auto fields = run({"HGETALL", "rw"});
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      if (fields[i + 1].text != "read") most = std::max(most, left(timeout(fields[i].text)));
    if (most > 0) {
      run({"PEXPIRE", "rw", std::to_string(most)});
      return true;
    }
    run({"DEL", "rw"});
    return false;
  }
};

TEST_F(redisson_rw_state, a_reader_is_a_field_and_a_timeout_key_with_the_lease) {
  const auto who = shared_claim("rw", 20s);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(enter(db(), who)->is, kind::held) << "asked again, not taken again";
  const state_map one_reader{{"rw", "hash: " + owner(who) + "=1 mode=read"}, {timeout(owner(who)), "1"}};
  EXPECT_EQ(content(), one_reader);
  for (const auto& key : {std::string("rw"), timeout(owner(who))}) {
    EXPECT_GT(left(key), 15'000);
    EXPECT_LE(left(key), 20'000);
  }
}

TEST_F(redisson_rw_state, a_reader_beside_redissons_keeps_the_longer_life_of_the_hash) {
  java_reads(java, "60000");
  const auto who = shared_claim("rw", 20s), longer = shared_claim("rw", 90s);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(run({"HGET", "rw", owner(who)}), "1");
  EXPECT_EQ(run({"HGET", "rw", java}), "1");
  EXPECT_EQ(run({"HLEN", "rw"}), 3);
  EXPECT_GT(left("rw"), 50'000);
  EXPECT_EQ(enter(db(), longer)->is, kind::held);
  EXPECT_GT(left("rw"), 80'000);
  EXPECT_EQ(look(db(), who)->is, kind::held);
  EXPECT_GT(left("rw"), 80'000) << "a renewal does not shorten it either";
  EXPECT_LE(left(timeout(owner(who))), 20'000);
}

TEST_F(redisson_rw_state, we_still_read_when_redissons_reader_has_left) {
  const auto who = shared_claim("rw", 20s);
  java_reads(java, "30000");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_TRUE(java_stops_reading(java)) << "it found nothing that keeps the lock";
  EXPECT_EQ(content(), (state_map{{"rw", "hash: " + owner(who) + "=1 mode=read"}, {timeout(owner(who)), "1"}}));
  EXPECT_EQ(look(db(), who)->is, kind::held);
  EXPECT_EQ(enter(db(), fresh_claim("rw"), entry::attempt)->is, kind::busy);
}

TEST_F(redisson_rw_state, redissons_readers_still_read_when_we_have_left_for_as_long_as_the_longest_of_them) {
  const auto who = shared_claim("rw", 90s);
  java_reads(java, "30000");
  java_reads(java, "40000", 2);
  java_reads(other_java, "20000");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  listener ears(server, {rw_channel});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), (state_map{{"rw", "hash: " + java + "=2 " + other_java + "=1 mode=read"},
                                  {timeout(java), "1"},
                                  {timeout(java, 2), "1"},
                                  {timeout(other_java), "1"}}));
  EXPECT_GT(left("rw"), 30'000);
  EXPECT_LE(left("rw"), 40'000);
  EXPECT_EQ(ears.heard(0), messages{}) << "the lock is not free";
}

TEST_F(redisson_rw_state, the_last_reader_deletes_the_lock_and_publishes_0_whatever_dead_ones_left) {
  const auto who = shared_claim("rw");
  java_reads(java, "30000");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  run({"DEL", timeout(java)});  // it ran out
  listener ears(server, {rw_channel});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), state_map{});
  EXPECT_EQ(ears.heard(1), messages{rw_channel + " 0"});
}

TEST_F(redisson_rw_state, a_reader_whose_own_lease_ran_out_is_gone_although_others_keep_the_hash) {
  const auto who = shared_claim("rw", 20s);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  java_reads(java, "30000");
  run({"DEL", timeout(owner(who))});
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_EQ(content(), (state_map{{"rw", "hash: " + java + "=1 mode=read"}, {timeout(java), "1"}}));
  EXPECT_EQ(locks().inspect("rw").holders.size(), 1U);
}

TEST_F(redisson_rw_state, a_writer_is_a_field_with_its_mark_and_publishes_1_when_it_leaves) {
  const auto who = fresh_claim("rw", 20s);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"rw", "hash: " + owner(who) + ":write=1 mode=write"}}));
  EXPECT_LE(left("rw"), 20'000) << "asked again: leases must not add up";
  listener ears(server, {rw_channel});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), state_map{});
  EXPECT_EQ(ears.heard(1), messages{rw_channel + " 1"});
}

TEST_F(redisson_rw_state, redissons_writer_keeps_us_out_and_is_left_alone) {
  state({{"HSET", "rw", "mode", "write", java + ":write", "1"}, {"PEXPIRE", "rw", "30000"}});
  const auto before = content();
  for (const auto& who : {shared_claim("rw"), fresh_claim("rw")}) {
    EXPECT_EQ(enter(db(), who, entry::attempt)->is, kind::busy);
    EXPECT_EQ(enter(db(), who)->is, kind::waiting);
    EXPECT_EQ(*leave(db(), who), departure::left);
  }
  EXPECT_EQ(content(), before);
}

TEST_F(redisson_rw_state, redissons_readers_keep_our_writer_out_and_let_our_reader_in) {
  java_reads(java, "30000");
  EXPECT_EQ(enter(db(), fresh_claim("rw"), entry::attempt)->is, kind::busy);
  EXPECT_EQ(enter(db(), shared_claim("rw"), entry::attempt)->is, kind::held);
}

TEST_F(redisson_rw_state, a_downgrade_is_one_step_and_tells_readers_that_wait) {
  const auto who = fresh_claim("rw", 20s);
  const auto wrote = enter(db(), who).value();
  listener ears(server, {rw_channel});
  const auto reads = convert(db(), who, lock_mode::shared, 1).value();
  EXPECT_EQ(reads.is, kind::held);
  EXPECT_EQ(reads.mode, lock_mode::shared);
  EXPECT_EQ(reads.token, wrote.token);
  EXPECT_EQ(content(), (state_map{{"rw", "hash: " + owner(who) + "=1 mode=read"}, {timeout(owner(who)), "1"}}));
  EXPECT_EQ(ears.heard(1), messages{rw_channel + " 1"});
}

TEST_F(redisson_rw_state, an_upgrade_needs_to_be_alone_and_redissons_readers_count) {
  auto who = shared_claim("rw", 20s);
  java_reads(java, "30000");
  const auto read = enter(db(), who).value();
  const auto before = content();
  EXPECT_EQ(convert(db(), who, lock_mode::exclusive, lock_capacity)->is, kind::busy);
  EXPECT_EQ(content(), before);
  ASSERT_TRUE(java_stops_reading(java));
  const auto wrote = convert(db(), who, lock_mode::exclusive, lock_capacity).value();
  EXPECT_EQ(wrote.is, kind::held);
  EXPECT_EQ(wrote.mode, lock_mode::exclusive);
  EXPECT_GT(wrote.token, read.token);
  EXPECT_EQ(content(), (state_map{{"rw", "hash: " + owner(who) + ":write=1 mode=write"}}));
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), state_map{});
}

TEST_F(redisson_rw_state, an_upgrade_that_waits_comes_through_when_redissons_reader_leaves_without_a_word) {
  auto held = locks().acquire("rw", {.mode = lock_mode::shared});
  java_reads(java, "30000");
  std::jthread leaves([&] {
    std::this_thread::sleep_for(100ms);
    EXPECT_TRUE(java_stops_reading(java));
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(held.upgrade(20s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "it was noticed by the next renewal only";
}

TEST_F(redisson_rw_state, a_server_without_memory_still_renews_and_releases) {
  for (const auto& who : {shared_claim("rw", 20s), fresh_claim("rw", 20s)}) {
    run({"CONFIG", "SET", "maxmemory", "0"});
    ASSERT_EQ(enter(db(), who)->is, kind::held);
    run({"CONFIG", "SET", "maxmemory", "1"});
    const auto renewed = look(db(), who);
    ASSERT_TRUE(renewed) << renewed.error().message();
    EXPECT_EQ(renewed->is, kind::held);
    EXPECT_EQ(leave(db(), who).value(), departure::released);
    EXPECT_EQ(content(), state_map{});
  }
}

TEST_F(redisson_rw_state, a_lock_that_is_no_read_write_lock_is_not_entered) {
  state({{"HINCRBY", "rw", java, "1"}, {"PEXPIRE", "rw", "30000"}});
  const auto before = content();
  for (const auto& who : {shared_claim("rw"), fresh_claim("rw")}) {
    const auto refused = enter(db(), who);
    ASSERT_FALSE(refused) << "into a lock that somebody holds";
    EXPECT_NE(refused.error().message().find("object=lock"), std::string::npos) << refused.error().message();
  }
  EXPECT_EQ(content(), before);
}

TEST_F(redisson_rw_state, a_reader_of_redissons_with_two_holds_can_be_broken_by_force_with_all_of_them) {
  java_reads(java, "30000");
  java_reads(java, "30000", 2);
  const auto seen = locks().inspect("rw").holders;
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].mode, lock_mode::shared);
  EXPECT_TRUE(locks().evict_by_force("rw", seen[0].id));
  EXPECT_EQ(content(), state_map{});
}

}  // namespace
}  // namespace interlock::test_support

#endif
