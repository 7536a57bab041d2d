// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/redisson_table.hpp"

#include <thread>

/// The lock of getFairLock: the state after each of our operations is what Redisson would have left.
namespace interlock::test_support {
namespace {

using testing::enter;
using testing::fresh_claim;
using testing::leave;
using testing::look;

const std::string queue = "redisson_lock_queue:{orders}", deadlines = "redisson_lock_timeout:{orders}";
constexpr double fair_wait = 300'000;

class redisson_fair_state : public redisson_table {
 protected:
  void SetUp() override { open("object=fair"); }

  static std::string channel(const std::string& owner) { return "redisson_lock__channel:{orders}:" + owner; }
  void java_holds() { state({{"HSET", "orders", java, "1"}, {"PEXPIRE", "orders", "30000"}}); }
  void java_waits(const std::string& who, double ends) {
    state({{"RPUSH", queue, who}, {"ZADD", deadlines, std::to_string(ends), who}});
  }
};

TEST_F(redisson_fair_state, a_free_lock_is_taken_and_leaves_no_queue) {
  const auto who = fresh_claim("orders", 20s);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(who) + "=1"}}));
  EXPECT_LE(left("orders"), 20'000);
}

TEST_F(redisson_fair_state, waiters_queue_behind_each_other_five_minutes_apart) {
  java_holds();
  const auto first = fresh_claim("orders"), second = fresh_claim("orders");
  const auto now = static_cast<double>(server_now());
  const auto one = enter(db(), first).value(), two = enter(db(), second).value();
  EXPECT_EQ(one.is, kind::waiting);
  EXPECT_EQ(one.ahead, 0U);
  EXPECT_EQ(two.ahead, 1U);
  EXPECT_EQ(enter(db(), first)->is, kind::waiting);
  EXPECT_EQ(look(db(), second)->is, kind::waiting);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + java + "=1"},
                                  {queue, "list: " + owner(first) + " " + owner(second)},
                                  {deadlines, "zset: " + owner(first) + " " + owner(second)}}));
  EXPECT_NEAR(score(deadlines, owner(first)), now + 30'000 + fair_wait, 5'000);
  EXPECT_NEAR(score(deadlines, owner(second)) - score(deadlines, owner(first)), fair_wait, 50);
  EXPECT_EQ(left(queue), -1);
  EXPECT_EQ(left(deadlines), -1);
}

TEST_F(redisson_fair_state, we_queue_behind_redissons_waiter_and_do_not_overtake_it) {
  java_holds();
  const auto ends = static_cast<double>(server_now()) + 30'000 + fair_wait;
  java_waits(other_java, ends);
  const auto who = fresh_claim("orders");
  EXPECT_EQ(enter(db(), who)->ahead, 1U);
  EXPECT_NEAR(score(deadlines, owner(who)), ends + fair_wait, 50);
  run({"DEL", "orders"});
  EXPECT_EQ(look(db(), who)->is, kind::waiting);
  EXPECT_EQ(enter(db(), fresh_claim("orders"), entry::attempt)->is, kind::busy);
  EXPECT_EQ(content(), (state_map{{queue, "list: " + other_java + " " + owner(who)},
                                  {deadlines, "zset: " + other_java + " " + owner(who)}}));
}

TEST_F(redisson_fair_state, a_try_leaves_nothing_in_the_queue) {
  java_holds();
  EXPECT_EQ(enter(db(), fresh_claim("orders"), entry::attempt)->is, kind::busy);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + java + "=1"}}));
}

TEST_F(redisson_fair_state, who_is_let_in_takes_its_wait_off_the_deadlines_of_the_others) {
  java_holds();
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::waiting);
  const auto ends = score(deadlines, owner(who)) + fair_wait;
  java_waits(other_java, ends);
  run({"DEL", "orders"});
  EXPECT_EQ(look(db(), who)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(who) + "=1"},
                                  {queue, "list: " + other_java},
                                  {deadlines, "zset: " + other_java}}));
  EXPECT_NEAR(score(deadlines, other_java), ends - fair_wait, 1);
}

TEST_F(redisson_fair_state, a_waiter_at_the_head_whose_deadline_has_passed_is_taken_out) {
  java_waits(java, static_cast<double>(server_now()) - 10);
  java_waits(other_java, static_cast<double>(server_now()) - 1);
  const auto who = fresh_claim("orders");
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(who) + "=1"}}));
}

TEST_F(redisson_fair_state, a_release_publishes_0_on_the_channel_of_redissons_waiter_who_is_next) {
  const auto who = fresh_claim("orders"), later = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  java_waits(java, static_cast<double>(server_now()) + 310'000);
  ASSERT_EQ(enter(db(), later)->is, kind::waiting);
  listener ears(server, {"redisson_lock__channel:{orders}", channel(java), channel(owner(later))});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), (state_map{{queue, "list: " + java + " " + owner(later)},
                                  {deadlines, "zset: " + java + " " + owner(later)}}));
  EXPECT_EQ(ears.heard(1), messages{channel(java) + " 0"});
}

TEST_F(redisson_fair_state, a_release_hands_over_to_a_waiter_of_ours_who_is_next) {
  const auto who = fresh_claim("orders"), next = fresh_claim("orders", 20s);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  ASSERT_EQ(enter(db(), next)->is, kind::waiting);
  java_waits(java, score(deadlines, owner(next)) + fair_wait);
  const auto ends = score(deadlines, java);
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(
      content(),
      (state_map{{"orders", "hash: " + owner(next) + "=1"}, {queue, "list: " + java}, {deadlines, "zset: " + java}}));
  EXPECT_NEAR(score(deadlines, java), ends - fair_wait, 1);
  EXPECT_LE(left("orders"), 20'000);
  EXPECT_EQ(look(db(), next)->is, kind::held);
}

TEST_F(redisson_fair_state, who_gives_up_takes_its_wait_off_those_behind_it_only) {
  java_holds();
  const auto who = fresh_claim("orders");
  java_waits(other_java, static_cast<double>(server_now()) + 330'000);
  ASSERT_EQ(enter(db(), who)->ahead, 1U);
  const std::string third = java.substr(0, java.size() - 2) + "58";
  java_waits(third, static_cast<double>(server_now()) + 930'000);
  const auto before = score(deadlines, other_java), behind = score(deadlines, third);
  EXPECT_EQ(*leave(db(), who), departure::left);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + java + "=1"},
                                  {queue, "list: " + other_java + " " + third},
                                  {deadlines, "zset: " + other_java + " " + third}}));
  EXPECT_NEAR(score(deadlines, other_java), before, 1);
  EXPECT_NEAR(score(deadlines, third), behind - fair_wait, 1);
}

TEST_F(redisson_fair_state, the_next_in_line_is_told_when_the_one_who_was_told_gives_up) {
  java_holds();
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->ahead, 0U);
  java_waits(other_java, static_cast<double>(server_now()) + 630'000);
  run({"DEL", "orders"});  // Redisson lets go, and publishes on our channel
  listener ears(server, {channel(other_java)});
  EXPECT_EQ(*leave(db(), who), departure::left);
  EXPECT_EQ(ears.heard(1), messages{channel(other_java) + " 0"});
}

TEST_F(redisson_fair_state, a_dead_waiter_of_ours_does_not_hold_up_the_line_for_five_minutes) {
  java_holds();
  const auto dead = fresh_claim("orders", 50ms), live = fresh_claim("orders", 20s);
  ASSERT_EQ(enter(db(), dead)->is, kind::waiting);
  ASSERT_EQ(enter(db(), live)->is, kind::waiting);
  run({"DEL", "orders"});
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(look(db(), live)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(live) + "=1"}}));
}

TEST_F(redisson_fair_state, a_waiter_that_redisson_took_out_queues_again_at_the_end) {
  java_holds();
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::waiting);
  state({{"LREM", queue, "0", owner(who)}, {"ZREM", deadlines, owner(who)}});
  java_waits(other_java, static_cast<double>(server_now()) + 330'000);
  const auto again = look(db(), who).value();
  EXPECT_EQ(again.is, kind::waiting);
  EXPECT_EQ(again.ahead, 1U);
  EXPECT_EQ(run({"LRANGE", queue, "0", "-1"}).size(), 2U);
}

TEST_F(redisson_fair_state, a_waiters_deadline_stays_ahead_of_what_those_before_it_will_take_off) {
  java_holds();
  java_waits(other_java, static_cast<double>(server_now()) + 330'000);
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->ahead, 1U);
  run({"ZADD", deadlines, std::to_string(server_now() + 1'000), owner(who)});
  ASSERT_EQ(look(db(), who)->is, kind::waiting);
  EXPECT_NEAR(score(deadlines, owner(who)), static_cast<double>(server_now()) + 2 * fair_wait, 5'000);
}

TEST_F(redisson_fair_state, everybody_in_the_queue_is_seen_in_order) {
  java_holds();
  java_waits(other_java, static_cast<double>(server_now()) + 330'000);
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::waiting);
  const auto seen = locks().inspect("orders").waiters;
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].id, names::id_of(other_java));
  EXPECT_GT(seen[0].lease_left, 300s);
  EXPECT_EQ(seen[1].id, public_id(who.secret));
}

class redisson_fair_wait : public redisson_table {};

TEST_F(redisson_fair_wait, a_fleet_with_another_wait_timeout_can_say_so) {
  open("object=fair&fair_wait=5s");
  state({{"HSET", "orders", java, "1"}, {"PEXPIRE", "orders", "30000"}});
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::waiting);
  EXPECT_NEAR(score(deadlines, owner(who)), static_cast<double>(server_now()) + 35'000, 5'000);
}

}  // namespace
}  // namespace interlock::test_support

#endif
