// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <unistd.h>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(onlookers);

TEST_P(onlookers, a_store_that_cannot_list_refuses_to) {
  if (store->traits().survey) GTEST_SKIP() << "it can list";
  EXPECT_THROW(static_cast<void>(store->connect().survey()), lock_error);
}

TEST_P(onlookers, a_survey_tells_who_holds_who_waits_and_since_when) {
  INTERLOCK_NEEDS(survey);
  INTERLOCK_NEEDS(tokens);  // told to make none, a store may write nothing about a holder but the claim itself
  const auto first = store->connect({.purpose = "nightly report"}), second = store->connect({.purpose = "by hand"});
  const auto held = first.acquire("orders/42", {.lease = 20s});
  queue_of_waiters line(*store, "orders/42");
  auto& wait = line.add(second, {.lease = 20s});
  std::this_thread::sleep_for(50ms);

  const auto seen = store->inspect("orders/42");
  EXPECT_EQ(seen.name, "orders/42");
  EXPECT_EQ(seen.limit, 1U);
  ASSERT_EQ(seen.holders.size(), 1U);
  const auto& holder = seen.holders[0];
  EXPECT_EQ(holder.id, held.id());
  EXPECT_EQ(holder.mode, lock_mode::exclusive);
  ASSERT_TRUE(holder.token);
  EXPECT_LE(*holder.token, held.token()) << "of a block reserved for this process, the first is known";
  EXPECT_EQ(holder.purpose, "nightly report");
  EXPECT_EQ(holder.pid, getpid());
  EXPECT_FALSE(holder.host.empty());
  EXPECT_FALSE(holder.program.empty());
  EXPECT_GE(holder.age, 40ms);
  EXPECT_GT(holder.lease_left, 5s);
  EXPECT_LE(holder.lease_left, 20s + store->traits().tick);

  ASSERT_EQ(seen.waiters.size(), 1U);
  EXPECT_FALSE(seen.waiters[0].token);
  EXPECT_EQ(seen.waiters[0].purpose, "by hand");
  EXPECT_NE(seen.waiters[0].id, holder.id);
  EXPECT_FALSE(wait.ready());
}

TEST_P(onlookers, waiters_are_listed_in_the_order_in_which_they_will_be_served) {
  INTERLOCK_NEEDS(survey);
  INTERLOCK_NEEDS(fifo);
  const auto held = store->connect().acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  for (const char* who : {"first", "second", "third"}) line.add(store->connect({.purpose = who}));
  const auto waiters = store->inspect("orders/42").waiters;
  ASSERT_EQ(waiters.size(), 3U);
  EXPECT_EQ(waiters[0].purpose, "first");
  EXPECT_EQ(waiters[1].purpose, "second");
  EXPECT_EQ(waiters[2].purpose, "third");
}

TEST_P(onlookers, a_survey_lists_names_by_prefix_and_in_order) {
  INTERLOCK_NEEDS(survey);
  const auto locks = store->connect();
  std::vector<guard> held;
  for (const char* name : {"orders/2", "orders", "orders/1", "order", "stock/1"}) held.push_back(locks.acquire(name));
  const auto names = [&](std::string_view prefix) {
    std::vector<std::string> out;
    for (const auto& one : store->survey(prefix)) out.push_back(one.name);
    return out;
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(names("orders/"), (list{"orders/1", "orders/2"}));
  EXPECT_EQ(names("orders"), (list{"orders", "orders/1", "orders/2"}));
  EXPECT_EQ(names(""), (list{"order", "orders", "orders/1", "orders/2", "stock/1"}));
  EXPECT_EQ(names("nothing"), list{});
}

TEST_P(onlookers, more_names_than_one_page_are_all_listed_once) {
  INTERLOCK_NEEDS(survey);
  const auto locks = store->connect();
  std::vector<guard> held;
  for (int i = 0; i < 300; ++i) held.push_back(locks.acquire("many/" + std::to_string(1000 + i)));
  const auto all = store->survey("many/");
  ASSERT_EQ(all.size(), 300U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].name, "many/" + std::to_string(1000 + i));
}

TEST_P(onlookers, a_name_nobody_uses_has_empty_lists) {
  INTERLOCK_NEEDS(survey);
  const auto seen = store->inspect("orders/42");
  EXPECT_EQ(seen.name, "orders/42");
  EXPECT_TRUE(seen.holders.empty());
  EXPECT_TRUE(seen.waiters.empty());
}

TEST_P(onlookers, looking_changes_nothing) {
  INTERLOCK_NEEDS(survey);
  auto dead = store->join();
  const auto held = dead.locks.acquire("orders/42", {.lease = store->short_lease()});
  dead.link->cut();
  EXPECT_TRUE(eventually([&] { return store->inspect("orders/42").holders.empty(); })) << "a survey renewed it";
}

TEST_P(onlookers, a_sequencer_is_good_while_its_grant_stands) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(survey);  // the token is looked up
  const auto first = store->connect(), server = store->connect();
  auto held = first.acquire("orders/42");
  const auto sequencer = held.sequencer();
  EXPECT_TRUE(server.check(sequencer));
  EXPECT_TRUE(held.release());
  EXPECT_FALSE(server.check(sequencer));
  const auto next = server.acquire("orders/42");
  EXPECT_FALSE(server.check(sequencer)) << "somebody else's grant";
  EXPECT_TRUE(first.check(next.sequencer()));
}

TEST_P(onlookers, a_sequencer_is_exact_also_when_the_process_has_others_waiting) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(survey);  // the token is looked up
  const auto locks = store->connect(), server = store->connect();
  auto held = locks.acquire("orders/42");
  auto behind = locks.async_acquire("orders/42");
  const auto sequencer = held.sequencer();
  EXPECT_TRUE(server.check(sequencer));
  EXPECT_TRUE(held.release());
  const auto next = behind.get();
  EXPECT_FALSE(server.check(sequencer));
  EXPECT_TRUE(server.check(next.sequencer()));
}

TEST_P(onlookers, a_sequencer_of_a_lost_grant_is_bad) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(survey);
  const auto locks = store->connect(), server = store->connect();
  const auto held = locks.acquire("orders/42");
  const auto sequencer = held.sequencer();
  store->steal("orders/42");
  EXPECT_FALSE(server.check(sequencer));
}

TEST_P(onlookers, sequencers_of_readers_are_good_while_they_read) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(shared);
  const auto server = store->connect();
  auto reads = store->connect().acquire("orders/42", {.mode = lock_mode::shared});
  const auto sequencer = reads.sequencer();
  EXPECT_TRUE(server.check(sequencer));
  EXPECT_TRUE(reads.release());
  EXPECT_FALSE(server.check(sequencer));
}

}  // namespace interlock::inline v1::testing
