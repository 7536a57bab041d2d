// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "interop/redisson_table.hpp"

/// RPermitExpirableSemaphore: the state after each of our operations is what Redisson would have left.
namespace interlock::test_support {
namespace {

using testing::enter;
using testing::leave;
using testing::look;
using testing::permit_claim;

const std::string semaphore_channel = "redisson_sc:{gate}", permits = "{gate}:timeout";
const std::string java_permit("\x00\x8f\xff\x10 sixteen raw", 16), other_permit("\xfe\x00\x01\x02 sixteen raw", 16);

class redisson_semaphore_state : public redisson_table {
 protected:
  void SetUp() override { open("object=lock"); }

  void java_has(const std::string& permit, std::int64_t ends) {
    state({{"DECRBY", "gate", "1"}, {"ZADD", permits, std::to_string(ends), permit}});
  }
  std::string free() { return run({"GET", "gate"}).text; }
};

TEST_F(redisson_semaphore_state, a_semaphore_that_is_not_there_is_set_up_and_published) {
  listener ears(server, {semaphore_channel});
  const auto who = permit_claim("gate", 1, 3, 20s);
  const auto now = server_now();
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(enter(db(), who)->is, kind::held) << "asked again, not taken again";
  EXPECT_EQ(content(), (state_map{{"gate", "2"}, {permits, "zset: " + permit(who)}}));
  EXPECT_NEAR(score(permits, permit(who)), static_cast<double>(now) + 20'000, 2'000);
  EXPECT_EQ(left("gate"), -1);
  EXPECT_EQ(left(permits), -1);
  EXPECT_EQ(ears.heard(1), messages{semaphore_channel + " 3"});
}

TEST_F(redisson_semaphore_state, one_that_redisson_set_up_is_used_as_it_is) {
  run({"SET", "gate", "3"});
  java_has(java_permit, 922337203685477);
  const auto who = permit_claim("gate", 2, 3), late = permit_claim("gate", 1, 3);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(free(), "0");
  EXPECT_EQ(run({"ZCARD", permits}), 3);
  EXPECT_EQ(enter(db(), late, entry::attempt)->is, kind::busy);
  listener ears(server, {semaphore_channel});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(content(), (state_map{{"gate", "2"}, {permits, "zset: " + java_permit}}));
  EXPECT_EQ(ears.heard(1), messages{semaphore_channel + " 2"}) << "several: how many came back";
}

TEST_F(redisson_semaphore_state, giving_back_one_permit_publishes_how_many_are_free) {
  const auto who = permit_claim("gate", 1, 3);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  listener ears(server, {semaphore_channel});
  EXPECT_EQ(*leave(db(), who), departure::released);
  EXPECT_EQ(*leave(db(), who), departure::gone);
  EXPECT_EQ(content(), (state_map{{"gate", "3"}}));
  EXPECT_EQ(ears.heard(1), messages{semaphore_channel + " 3"});
}

TEST_F(redisson_semaphore_state, permits_that_ran_out_come_back_and_are_published) {
  run({"SET", "gate", "2"});
  java_has(java_permit, server_now() - 10);
  java_has(other_permit, server_now() + 60'000);
  listener ears(server, {semaphore_channel});
  const auto who = permit_claim("gate", 1, 2);
  EXPECT_EQ(enter(db(), who)->is, kind::held);
  EXPECT_EQ(free(), "0");
  EXPECT_EQ(score(permits, java_permit), -1);
  EXPECT_NE(score(permits, other_permit), -1);
  EXPECT_EQ(ears.heard(1), messages{semaphore_channel + " 1"});
}

TEST_F(redisson_semaphore_state, who_waits_is_told_when_the_first_permit_in_the_way_ends) {
  run({"SET", "gate", "1"});
  java_has(java_permit, server_now() + 7'000);
  const auto waits = enter(db(), permit_claim("gate", 1, 1)).value();
  EXPECT_EQ(waits.is, kind::waiting);
  EXPECT_NEAR(static_cast<double>(waits.look_again_in.count()), 7'000, 2'000);
  run({"ZADD", permits, "922337203685477", java_permit});
  EXPECT_EQ(enter(db(), permit_claim("gate", 1, 1), entry::attempt)->look_again_in, 0ms) << "it never ends";
}

TEST_F(redisson_semaphore_state, a_renewal_extends_what_is_there_and_brings_nothing_back) {
  const auto who = permit_claim("gate", 2, 3, 20s);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  const auto second = names::nth_permit(permit(who), 1);
  run({"ZADD", permits, std::to_string(server_now() + 5'000), second});
  EXPECT_EQ(look(db(), who)->is, kind::held);
  EXPECT_GT(score(permits, second), static_cast<double>(server_now()) + 15'000);
  // Somebody at a prompt gives back one of the two.
  state({{"ZREM", permits, second}, {"INCRBY", "gate", "1"}});
  EXPECT_EQ(look(db(), who)->is, kind::gone);
  EXPECT_EQ(content(), (state_map{{"gate", "3"}})) << "neither brought back nor lost";
}

TEST_F(redisson_semaphore_state, a_permit_of_ours_that_ran_out_is_given_back_once) {
  const auto who = permit_claim("gate", 1, 2);
  ASSERT_EQ(enter(db(), who)->is, kind::held);
  run({"ZADD", permits, std::to_string(server_now() - 1'000), permit(who)});
  EXPECT_EQ(*leave(db(), who), departure::gone);
  EXPECT_EQ(content(), (state_map{{"gate", "2"}}));
}

TEST_F(redisson_semaphore_state, a_semaphore_with_a_lease_of_its_own_gives_it_to_the_permits) {
  run({"SET", "gate", "2", "PX", "50000"});
  ASSERT_EQ(enter(db(), permit_claim("gate", 1, 2))->is, kind::held);
  EXPECT_GT(left(permits), 40'000);
  EXPECT_LE(left(permits), 50'000);
}

TEST_F(redisson_semaphore_state, another_limit_than_the_one_in_redis_is_refused) {
  run({"SET", "gate", "5"});
  for (const bool in_use : {false, true}) {
    if (in_use) java_has(java_permit, server_now() + 60'000);
    const auto before = content();
    const auto refused = enter(db(), permit_claim("gate", 1, 3));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    EXPECT_NE(refused.error().message().find("a semaphore of 5"), std::string::npos) << refused.error().message();
    EXPECT_EQ(content(), before) << "what Redisson set up is not ours to change";
  }
}

TEST_F(redisson_semaphore_state, a_key_of_another_kind_is_refused_and_not_touched) {
  for (const auto& put : {redis_peek::words{"HSET", "gate", java, "1"}, {"SET", "gate", "a plain lock's value"}}) {
    run({"DEL", "gate"});
    run(put);
    const auto before = content();
    const auto refused = enter(db(), permit_claim("gate", 1, 3));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    EXPECT_EQ(content(), before);
  }
}

TEST_F(redisson_semaphore_state, a_permit_of_redissons_is_seen_and_can_be_broken_by_force) {
  run({"SET", "gate", "3"});
  java_has(java_permit, server_now() + 60'000);
  const auto mine = permit_claim("gate", 2, 3);
  ASSERT_EQ(enter(db(), mine)->is, kind::held);
  const auto seen = locks().inspect("gate");
  EXPECT_EQ(seen.limit, 3U);
  ASSERT_EQ(seen.holders.size(), 2U);
  EXPECT_EQ(seen.holders[0].permits + seen.holders[1].permits, 3U);
  const auto& theirs = seen.holders[seen.holders[0].id == public_id(mine.secret) ? 1 : 0];
  EXPECT_TRUE(locks().evict_by_force("gate", theirs.id));
  EXPECT_EQ(free(), "1");
  EXPECT_EQ(run({"ZCARD", permits}), 2);
}

TEST_F(redisson_semaphore_state, more_permits_than_can_be_looked_after_are_refused) {
  const auto refused = enter(db(), permit_claim("gate", 2'000, 5'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unsupported);
  EXPECT_EQ(content(), state_map{});
}

}  // namespace
}  // namespace interlock::test_support

#endif
