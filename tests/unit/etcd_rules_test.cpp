// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "backends/etcd/keys.hpp"
#include "backends/etcd/sessions.hpp"
#include "backends/etcd/upgrade_plan.hpp"

#include <gtest/gtest.h>

#include <chrono>

/// Who holds, given the keys of a name: no server needed.
namespace interlock::etcd_store {
namespace {

using namespace std::chrono_literals;

claim_id numbered(int n) { return public_id(claim_secret({static_cast<std::byte>(n)})); }

key_value written(revision created, const claim_text& said) {
  return {"x/" + hexadecimal(created), said.text(), created, created, 1};
}
key_value writer(revision created) { return written(created, {.id = numbered(static_cast<int>(created))}); }
claim_text read_text(revision created) {
  return {.id = numbered(static_cast<int>(created)),
          .mode = lock_mode::shared,
          .weight = 1,
          .token_is = claim_text::source::fixed,
          .token = 1};
}
key_value reader(revision created) { return written(created, read_text(created)); }
key_value permits(revision created, std::uint32_t weight, std::uint32_t of) {
  return written(created, {.id = numbered(static_cast<int>(created)), .weight = weight, .capacity = of});
}
std::vector<bool> held(const line& all) {
  std::vector<bool> out;
  for (const auto& one : all.places()) out.push_back(one.held);
  return out;
}
using answers = std::vector<bool>;

TEST(etcd_rules, the_oldest_writer_holds_whatever_the_order_of_the_keys) {
  EXPECT_EQ(held(line({writer(9), writer(5), writer(7)})), (answers{true, false, false}));
}

TEST(etcd_rules, a_key_of_somebody_else_is_a_writers) {
  EXPECT_EQ(held(line({{"x/1a", "", 3, 3, 1}, reader(5)})), (answers{true, false}));
  EXPECT_EQ(held(line({reader(2), {"x/1a", "candidate", 3, 3, 1}, reader(5)})), (answers{true, false, false}));
}

TEST(etcd_rules, readers_at_the_head_hold_together_and_nobody_passes_a_waiting_writer) {
  EXPECT_EQ(held(line({reader(2), reader(3), writer(4), reader(5)})), (answers{true, true, false, false}));
}

TEST(etcd_rules, permits_are_given_in_order_as_long_as_they_fit) {
  EXPECT_EQ(held(line({permits(2, 1, 3), permits(3, 3, 3), permits(4, 1, 3)})), (answers{true, false, false}));
  EXPECT_EQ(held(line({permits(2, 2, 3), permits(4, 1, 3)})), (answers{true, true}));
  EXPECT_FALSE(line({permits(2, 3, 3)}).admits(1, 3));
  EXPECT_TRUE(line({permits(2, 2, 3)}).admits(1, 3));
}

TEST(etcd_rules, an_upgrader_lets_nobody_in_who_came_later_and_keeps_those_who_were_there) {
  auto upgrading = read_text(2);
  upgrading.state = claim_text::condition::upgrading;
  upgrading.upgrading_since = 4;
  const line all({written(2, upgrading), reader(3), reader(5)});
  EXPECT_EQ(held(all), (answers{true, true, false}));
  EXPECT_FALSE(all.admits(1, lock_capacity));
}

TEST(etcd_rules, one_that_is_over_is_in_nobodys_way) {
  auto over = read_text(2);
  over.state = claim_text::condition::over;
  EXPECT_EQ(held(line({written(2, over), writer(3)})), (answers{false, true}));
}

TEST(etcd_rules, an_upgrade_takes_a_token_between_those_before_and_those_waiting) {
  const line all({reader(5), writer(8)});
  const auto plan = plan_upgrade(all, all.places()[0], lock_mode::exclusive, lock_capacity, {"x/", "x0"}, 9);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->said.token_is, claim_text::source::created) << "5: above every writer's before, below 8";
  auto used = read_text(5);
  used.token = 5;
  const line again({written(5, used), writer(7)});
  EXPECT_EQ(plan_upgrade(again, again.places()[0], lock_mode::exclusive, lock_capacity, {"x/", "x0"}, 9)->said.token,
            6U);
  const line tight({written(5, used), writer(6)});
  EXPECT_FALSE(plan_upgrade(tight, tight.places()[0], lock_mode::exclusive, lock_capacity, {"x/", "x0"}, 9))
      << "no room: 6 is taken";
}

TEST(etcd_rules, an_upgrade_depends_on_the_first_that_waits) {
  const line all({reader(5), writer(8), reader(9)});
  const auto plan = plan_upgrade(all, all.places()[0], lock_mode::exclusive, lock_capacity, {"x/", "x0"}, 10);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->when.size(), 2U);
  EXPECT_EQ(plan->when[1].of.key, "x/8") << "were it gone, the reader behind it would hold";
}

TEST(etcd_rules, names_are_written_so_that_none_is_among_another_ones_keys) {
  const keyring keys("locks/", false);
  EXPECT_EQ(keys.written("a/b%"), "a%2Fb%25");
  EXPECT_EQ(keys.read("a%2Fb%25"), "a/b%");
  EXPECT_FALSE(keys.read("a%20b"));
  EXPECT_EQ(keys.claim("a", 3706640479751605765), "locks/a/3370a1e0b1ad8e05");
  EXPECT_EQ(keyring("", true).written("a/b"), "a/b");
  EXPECT_EQ(keys.of("locks/a%2Fb/12ab").written, "a%2Fb");
  EXPECT_EQ(keys.of("elsewhere/a/12ab").is, keyring::meaning::kind::nothing);
  EXPECT_EQ(keys.of(keys.last("a")).is, keyring::meaning::kind::nothing);
  EXPECT_EQ(keys.of(keys.wake("a")).is, keyring::meaning::kind::wake);
  EXPECT_EQ(keys.of(keys.eviction(numbered(1))).rest, to_string(numbered(1)));
}

TEST(etcd_rules, only_what_ends_like_a_claim_is_listed_as_one) {
  EXPECT_TRUE(looks_like_a_claim("694d9a1c3c5b1f04"));
  EXPECT_TRUE(looks_like_a_claim("12ab-" + to_string(numbered(1))));
  for (const auto* other : {"", "config", "12AB", "12ab-", "12ab-cd", "0123456789abcdef0"})
    EXPECT_FALSE(looks_like_a_claim(other)) << other;
}

TEST(etcd_rules, what_is_written_is_read_back) {
  claim_text said{.id = numbered(7),
                  .mode = lock_mode::shared,
                  .weight = 1,
                  .token_is = claim_text::source::fixed,
                  .token = 99,
                  .state = claim_text::condition::evicted,
                  .since = 12,
                  .lease = 30'000,
                  .origin = {.host = "a host", .program = "-", .purpose = "100 %\n", .pid = 42}};
  const auto back = claim_text::read(said.text());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text(), said.text());
  EXPECT_EQ(back->origin.purpose, "100 %\n");
  EXPECT_EQ(back->origin.program, "-");
  EXPECT_EQ(back->token, 99U);
  EXPECT_FALSE(claim_text::read(""));
  EXPECT_FALSE(claim_text::read("candidate's value"));
  EXPECT_FALSE(claim_text::read(said.text().substr(0, 60)));
}

TEST(etcd_rules, leases_fall_into_few_classes_each_longer_than_asked) {
  EXPECT_EQ(seconds_for(1ms), 2);
  EXPECT_EQ(seconds_for(10s), 11);
  EXPECT_EQ(seconds_for(10'001ms), 16);
  EXPECT_EQ(seconds_for(30s), 31);
  EXPECT_EQ(seconds_for(61s), 91);
}

TEST(etcd_rules, a_prefix_ends_where_the_next_one_begins) {
  EXPECT_EQ(beginning_with("a/").end, "a0");
  EXPECT_EQ(beginning_with("a\xff").end, "b");
  EXPECT_EQ(beginning_with("").key, std::string(1, '\0'));
  EXPECT_EQ(beginning_with("").end, std::string(1, '\0'));
}

}  // namespace
}  // namespace interlock::etcd_store

#endif
