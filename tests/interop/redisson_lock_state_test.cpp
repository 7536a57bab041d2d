// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/redisson_table.hpp"

/// RLock and RFencedLock: the state after each of our operations is what Redisson would have left.
namespace interlock::test_support {
namespace {

using testing::enter;
using testing::fresh_claim;
using testing::leave;
using testing::look;

const std::string lock_channel = "redisson_lock__channel:{orders}";

class redisson_lock_state : public redisson_table {
 protected:
  void SetUp() override { open("object=lock"); }
};

TEST_F(redisson_lock_state, a_free_lock_becomes_a_hash_of_its_owner_and_the_count_one_with_the_lease) {
  const auto who = fresh_claim("orders", 20s);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(who) + "=1"}}));
  EXPECT_GT(left("orders"), 15'000);
  EXPECT_LE(left("orders"), 20'000);
}

TEST_F(redisson_lock_state, a_lock_that_redisson_holds_is_busy_until_its_lease_and_left_alone) {
  state({{"HINCRBY", "orders", java, "2"}, {"PEXPIRE", "orders", "30000"}});
  const auto before = content();
  const auto tried = enter(db(), fresh_claim("orders"), entry::attempt).value();
  EXPECT_EQ(tried.is, kind::busy);
  EXPECT_GT(tried.look_again_in, 25s);
  EXPECT_LE(tried.look_again_in, 30s);
  const auto queued = enter(db(), fresh_claim("orders")).value();
  EXPECT_EQ(queued.is, kind::waiting);
  EXPECT_EQ(content(), before);
  EXPECT_GT(left("orders"), 25'000);
}

TEST_F(redisson_lock_state, a_lock_without_a_lease_is_busy_for_an_unknown_time_and_gets_none) {
  state({{"HINCRBY", "orders", java, "1"}});
  const auto tried = enter(db(), fresh_claim("orders"), entry::attempt).value();
  EXPECT_EQ(tried.is, kind::busy);
  EXPECT_EQ(tried.look_again_in, 0ms);
  EXPECT_EQ(left("orders"), -1);
}

TEST_F(redisson_lock_state, an_enter_whose_answer_was_lost_does_not_count_twice) {
  const auto who = fresh_claim("orders");
  const auto first = enter(db(), who).value(), again = enter(db(), who).value();
  EXPECT_EQ(again.is, kind::held);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(who) + "=1"}}));
}

TEST_F(redisson_lock_state, a_release_deletes_the_hash_and_publishes_0_once) {
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  listener ears(server, {lock_channel});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), state_map{});
  EXPECT_EQ(*leave(db(), who), departure::gone);
  EXPECT_EQ(ears.heard(1), messages{lock_channel + " 0"});
}

TEST_F(redisson_lock_state, a_name_with_braces_is_published_without_more_of_them) {
  const auto who = fresh_claim("{a}b");
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  listener ears(server, {"redisson_lock__channel:{a}b"});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(ears.heard(1), messages{"redisson_lock__channel:{a}b 0"});
}

TEST_F(redisson_lock_state, what_is_redissons_is_neither_released_nor_renewed_by_us) {
  const auto who = fresh_claim("orders", 60s);
  state({{"HINCRBY", "orders", java, "1"}, {"PEXPIRE", "orders", "30000"}});
  const auto before = content();
  listener ears(server, {lock_channel});
  EXPECT_EQ(*leave(db(), who), departure::gone);
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_EQ(content(), before);
  EXPECT_LE(left("orders"), 30'000);
  EXPECT_EQ(ears.heard(0), messages{});
}

TEST_F(redisson_lock_state, a_renewal_sets_the_lease_anew_and_revives_nothing) {
  const auto who = fresh_claim("orders", 30s);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  run({"PEXPIRE", "orders", "5000"});
  EXPECT_EQ(look(db(), who)->is, kind::held);
  EXPECT_GT(left("orders"), 25'000);
  run({"DEL", "orders"});
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_EQ(content(), state_map{});
}

TEST_F(redisson_lock_state, a_waiting_claim_takes_the_lock_that_redisson_has_let_go_of) {
  state({{"HINCRBY", "orders", java, "1"}, {"PEXPIRE", "orders", "30000"}});
  const auto who = fresh_claim("orders");
  ASSERT_EQ(enter(db(), who)->is, kind::waiting);
  ASSERT_EQ(look(db(), who)->is, kind::waiting);
  state({{"DEL", "orders"}, {"PUBLISH", lock_channel, "0"}});
  EXPECT_EQ(look(db(), who)->is, kind::held);
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(who) + "=1"}}));
}

TEST_F(redisson_lock_state, a_key_of_another_type_is_refused_and_not_touched) {
  for (const auto& put : {redis_peek::words{"SET", "orders", "a plain lock's value"}, {"RPUSH", "orders", "x"}}) {
    run({"DEL", "orders"});
    run(put);
    const auto before = content();
    const auto who = fresh_claim("orders");
    const auto refused = enter(db(), who);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    EXPECT_NE(refused.error().message().find("another type"), std::string::npos) << refused.error().message();
    EXPECT_EQ(look(db(), who).error(), errc::invalid_argument);
    EXPECT_EQ(*leave(db(), who), departure::gone);
    EXPECT_EQ(content(), before);
  }
}

TEST_F(redisson_lock_state, one_bad_key_does_not_keep_other_locks_from_being_renewed) {
  const std::vector<claim> all{fresh_claim("a", 30s), fresh_claim("b", 30s), fresh_claim("c", 30s)};
  for (const auto& one : all) ASSERT_EQ(enter(db(), one)->is, kind::held);
  state({{"SET", "b", "1"}, {"PEXPIRE", "c", "5000"}});
  const auto answers = look(db(), all).value();
  EXPECT_EQ(answers[0]->is, kind::held);
  EXPECT_FALSE(answers[1]);
  EXPECT_EQ(answers[2]->is, kind::held);
  EXPECT_GT(left("c"), 25'000);
}

TEST_F(redisson_lock_state, a_read_write_lock_is_not_taken_for_a_lock) {
  state({{"HSET", "orders", "mode", "read", java, "1"}, {"PEXPIRE", "orders", "30000"}});
  const auto before = content();
  const auto refused = enter(db(), fresh_claim("orders"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("object=rw"), std::string::npos) << refused.error().message();
  EXPECT_EQ(content(), before);
}

TEST_F(redisson_lock_state, a_fair_lock_is_not_taken_from_under_its_queue) {
  state({{"RPUSH", "redisson_lock_queue:{orders}", java},
         {"ZADD", "redisson_lock_timeout:{orders}", std::to_string(server_now() + 300'000), java}});
  const auto before = content();
  const auto refused = enter(db(), fresh_claim("orders"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("object=fair"), std::string::npos) << refused.error().message();
  EXPECT_EQ(content(), before);
  run({"ZADD", "redisson_lock_timeout:{orders}", std::to_string(server_now() - 1), java});
  EXPECT_EQ(enter(db(), fresh_claim("orders"))->is, kind::held) << "nobody is left in that queue";
}

TEST_F(redisson_lock_state, shared_mode_is_refused_and_says_what_has_it) {
  const auto refused = locks().attempt("orders", {.mode = lock_mode::shared});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unsupported);
  EXPECT_NE(refused.error().message().find("object=rw"), std::string::npos) << refused.error().message();
}

TEST_F(redisson_lock_state, a_holder_of_redissons_is_seen_and_can_be_broken_only_by_force) {
  state({{"HINCRBY", "orders", java, "1"}, {"PEXPIRE", "orders", "30000"}});
  const auto seen = locks().inspect("orders");
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_FALSE(seen.holders[0].token);
  EXPECT_GT(seen.holders[0].lease_left, 25s);
  EXPECT_THROW(static_cast<void>(locks().evict("orders", seen.holders[0].id)), lock_error);
  EXPECT_EQ(left("orders") > 0, true);
  listener ears(server, {lock_channel});
  EXPECT_TRUE(locks().evict_by_force("orders", seen.holders[0].id));
  EXPECT_EQ(content(), state_map{});
  EXPECT_EQ(ears.heard(1), messages{lock_channel + " 0"});
}

TEST_F(redisson_lock_state, what_interlock_keeps_beside_it_runs_out_by_itself) {
  const auto who = fresh_claim("orders", 20s), waits = fresh_claim("orders", 20s);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  ASSERT_EQ(enter(db(), waits)->is, kind::waiting);
  ASSERT_EQ(*leave(db(), waits, finality::final), departure::left);
  const auto keys = run({"KEYS", "ilk1:*"});
  EXPECT_GE(keys.size(), 2U);
  for (const auto& key : keys.list) EXPECT_GT(left(key.text), 0) << key.text;
}

TEST_F(redisson_lock_state, a_server_without_memory_still_renews_and_releases) {
  const auto lock = fresh_claim("orders", 20s), permits = testing::permit_claim("gate", 2, 3, 20s);
  ASSERT_EQ(enter(db(), lock)->is, kind::held);
  ASSERT_EQ(enter(db(), permits)->is, kind::held);
  run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(enter(db(), fresh_claim("more")).error(), errc::unavailable);
  for (const auto& who : {lock, permits}) {
    const auto renewed = look(db(), who);
    ASSERT_TRUE(renewed) << renewed.error().message();
    EXPECT_EQ(renewed->is, kind::held);
    EXPECT_EQ(leave(db(), who).value(), departure::released);
  }
  EXPECT_EQ(content(), (state_map{{"gate", "3"}}));
}

TEST_F(redisson_lock_state, a_holder_without_a_lease_is_shown_as_such) {
  state({{"HINCRBY", "orders", java, "1"}});
  EXPECT_EQ(locks().inspect("orders").holders.at(0).lease_left, milliseconds::max());
}

class redisson_without_tokens : public redisson_table {};

TEST_F(redisson_without_tokens, none_are_made_and_the_guard_says_so) {
  open("object=lock&token=none");
  EXPECT_FALSE(locks().traits().tokens);
  const auto held = locks().acquire("orders");
  EXPECT_THROW(static_cast<void>(held.token()), lock_error);
  EXPECT_TRUE(run({"HGET", "ilk1:r:b:{orders}", "tok"}).nil());
}

class redisson_fenced_state : public redisson_table {
 protected:
  void SetUp() override { open("object=fenced"); }
};

TEST_F(redisson_fenced_state, the_token_is_redissons_own_counter_and_outlives_the_lock) {
  const auto first = fresh_claim("orders");
  EXPECT_EQ(enter(db(), first)->token, 1U);
  EXPECT_EQ(enter(db(), first)->token, 1U) << "asked again, not taken again";
  EXPECT_EQ(content(), (state_map{{"orders", "hash: " + owner(first) + "=1"}, {"redisson_lock_token:{orders}", "1"}}));
  EXPECT_EQ(left("redisson_lock_token:{orders}"), -1);
  ASSERT_EQ(*leave(db(), first), departure::released);
  EXPECT_EQ(content(), (state_map{{"redisson_lock_token:{orders}", "1"}}));
  // Redisson enters, enters again, and leaves: its counter has moved by two.
  state({{"INCRBY", "redisson_lock_token:{orders}", "2"}});
  EXPECT_EQ(enter(db(), fresh_claim("orders"))->token, 4U);
}

TEST_F(redisson_fenced_state, a_refused_attempt_moves_no_token) {
  state(
      {{"SET", "redisson_lock_token:{orders}", "7"}, {"HINCRBY", "orders", java, "1"}, {"PEXPIRE", "orders", "30000"}});
  EXPECT_EQ(enter(db(), fresh_claim("orders"), entry::attempt)->is, kind::busy);
  EXPECT_EQ(enter(db(), fresh_claim("orders"))->is, kind::waiting);
  EXPECT_EQ(run({"GET", "redisson_lock_token:{orders}"}), "7");
}

}  // namespace
}  // namespace interlock::test_support

#endif
