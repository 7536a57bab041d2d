// SPDX-License-Identifier: MIT
// What the SQLite store does beyond the rules of a book, which have their own tests.
#include "support/sqlite_harness.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace interlock::test {
namespace {

using kind = standing::kind;

struct sqlite_store_test : ::testing::Test {
  scratch_folder folder;
};

TEST_F(sqlite_store_test, a_hold_survives_the_end_of_the_client_that_took_it) {
  const auto mine = make_claim("orders/42");
  std::uint64_t token = 0;
  {
    sqlite_client first(folder.file());
    token = first.take(mine);
    ASSERT_GT(token, 0U);
  }
  sqlite_client second(folder.file());
  const auto other = second.enter(make_claim("orders/42"), entry::attempt);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->is, kind::busy);
  EXPECT_GT(other->look_again_in, 20s);
  const auto still = second.look(mine);
  ASSERT_TRUE(still);
  EXPECT_EQ(still->is, kind::held);
  EXPECT_EQ(still->token, token);
}

TEST_F(sqlite_store_test, two_clients_exclude_each_other_and_tokens_rise) {
  sqlite_client a(folder.file()), b(folder.file());
  const auto first = make_claim("n"), second = make_claim("n");
  const auto one = a.take(first);
  ASSERT_GT(one, 0U);
  EXPECT_EQ(b.take(second), 0U);
  ASSERT_EQ(*a.leave(first), departure::released);
  EXPECT_GT(b.take(second), one);
}

TEST_F(sqlite_store_test, waiters_are_granted_in_order_and_told_through_the_socket) {
  sqlite_client holder(folder.file()), b(folder.file()), c(folder.file());
  EXPECT_TRUE(b.store->traits().push);
  const auto first = make_claim("n"), second = make_claim("n"), third = make_claim("n");
  const auto token = holder.take(first);
  EXPECT_EQ(b.enter(second)->is, kind::waiting);
  const auto last = c.enter(third);
  EXPECT_EQ(last->is, kind::waiting);
  EXPECT_EQ(last->ahead, 1U);

  ASSERT_EQ(*holder.leave(first), departure::released);
  const auto told = b.events.grant_of(second.secret);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->is, kind::held);
  EXPECT_GT(told->token, token);
  EXPECT_EQ(told->behind, 1U);
  EXPECT_EQ(c.events.count(), 0U) << "only the granted one is woken";

  ASSERT_EQ(*b.leave(second), departure::released);
  const auto then = c.events.grant_of(third.secret);
  ASSERT_TRUE(then);
  EXPECT_GT(then->token, told->token);
  EXPECT_EQ(c.look(third)->token, then->token) << "the push says what the store says";
}

TEST_F(sqlite_store_test, a_grant_to_another_claim_of_the_same_client_needs_no_socket) {
  sqlite_client a(folder.file());
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(a.take(first), 0U);
  ASSERT_EQ(a.enter(second)->is, kind::waiting);
  ASSERT_EQ(*a.leave(first), departure::released);
  EXPECT_TRUE(a.events.grant_of(second.secret, 0ms)) << "told before leave() was answered";
}

TEST_F(sqlite_store_test, the_evicted_one_is_told_through_the_socket_and_keeps_the_place_until_its_lease_is_over) {
  sqlite_client a(folder.file()), b(folder.file());
  const auto mine = make_claim("n");
  ASSERT_GT(a.take(mine), 0U);
  EXPECT_TRUE(*b.evict("n", public_id(mine.secret), false));
  EXPECT_TRUE(a.events.eviction_of(mine.secret));
  EXPECT_EQ(b.take(make_claim("n")), 0U);
  const auto gone = a.look(mine);
  EXPECT_EQ(gone->is, kind::gone);
  EXPECT_EQ(gone->reason, standing::cause::evicted);
  EXPECT_FALSE(*b.evict("n", public_id(mine.secret), false)) << "it was ended already";
}

TEST_F(sqlite_store_test, a_forced_eviction_frees_at_once) {
  sqlite_client a(folder.file()), b(folder.file());
  const auto mine = make_claim("n");
  const auto token = a.take(mine);
  EXPECT_TRUE(*b.evict("n", public_id(mine.secret), true));
  EXPECT_GT(b.take(make_claim("n")), token);
}

TEST_F(sqlite_store_test, a_lease_that_ran_out_is_gone_and_looking_does_not_revive_it) {
  moved_clock clock;
  sqlite_client a(folder.file(), clock), b(folder.file(), clock);
  const auto mine = make_claim("n", 500ms), next = make_claim("n", 500ms);
  ASSERT_GT(a.take(mine), 0U);
  clock.advance(400ms);
  ASSERT_EQ(a.look(mine)->is, kind::held) << "renewed";
  clock.advance(400ms);
  EXPECT_EQ(b.take(next), 0U);
  clock.advance(200ms);
  EXPECT_GT(b.take(next), 0U);
  EXPECT_EQ(a.look(mine)->is, kind::gone);
  EXPECT_EQ(*a.leave(mine), departure::gone);
  EXPECT_EQ(b.look(next)->is, kind::held);
}

TEST_F(sqlite_store_test, a_final_leave_keeps_a_late_enter_out_also_after_reopening) {
  const auto mine = make_claim("n");
  {
    sqlite_client a(folder.file());
    EXPECT_EQ(*a.leave(mine, finality::final), departure::gone);
  }
  sqlite_client b(folder.file());
  EXPECT_EQ(b.enter(mine)->is, kind::gone);
  EXPECT_GT(b.take(make_claim("n")), 0U) << "others are not kept out";
}

TEST_F(sqlite_store_test, readers_share_and_an_upgrade_is_served_before_the_queue) {
  sqlite_client a(folder.file()), b(folder.file());
  const auto one = make_reader("n"), two = make_reader("n"), writer = make_claim("n");
  ASSERT_GT(a.take(one), 0U);
  ASSERT_GT(b.take(two), 0U);
  ASSERT_EQ(b.enter(writer)->is, kind::waiting);
  ASSERT_EQ(a.convert(one, lock_mode::exclusive, lock_capacity, entry::queue)->is, kind::waiting);
  ASSERT_EQ(*b.leave(two), departure::released);
  const auto upgraded = a.events.grant_of(one.secret);
  ASSERT_TRUE(upgraded);
  EXPECT_EQ(upgraded->mode, lock_mode::exclusive);
  EXPECT_EQ(a.look(one)->mode, lock_mode::exclusive);
  ASSERT_EQ(a.convert(one, lock_mode::shared, 1, entry::attempt)->is, kind::held);
  EXPECT_EQ(b.look(writer)->is, kind::waiting);
  ASSERT_EQ(*a.leave(one), departure::released);
  EXPECT_TRUE(b.events.grant_of(writer.secret));
}

TEST_F(sqlite_store_test, permits_add_up_to_the_capacity_and_a_name_has_one_capacity) {
  sqlite_client a(folder.file());
  auto permit = [](std::uint32_t weight) {
    auto out = make_claim("pool");
    out.capacity = 3;
    out.weight = weight;
    return out;
  };
  EXPECT_GT(a.take(permit(2)), 0U);
  EXPECT_EQ(a.take(permit(2)), 0U);
  EXPECT_GT(a.take(permit(1)), 0U);
  const auto wrong = a.enter(make_claim("pool"), entry::attempt);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), errc::invalid_argument);
}

TEST_F(sqlite_store_test, reserved_tokens_are_below_the_next_grants) {
  sqlite_client a(folder.file());
  auto block = make_claim("n");
  block.tokens = 16;
  const auto got = a.enter(block, entry::attempt);
  ASSERT_EQ(got->tokens, 16U);
  const auto more = a.look(block);
  EXPECT_GE(more->token, got->token + 16);
  ASSERT_EQ(*a.leave(block), departure::released);
  EXPECT_GE(a.take(make_claim("n")), more->token + 16);
}

TEST_F(sqlite_store_test, one_look_answers_for_many_names) {
  sqlite_client a(folder.file());
  std::vector<std::string> names;
  for (int i = 0; i < 128; ++i) names.push_back("batch/" + std::to_string(i));
  std::vector<claim> all;
  for (const auto& name : names) all.push_back(make_claim(name));
  for (std::size_t i = 0; i < all.size(); i += 2) ASSERT_GT(a.take(all[i]), 0U);
  for (const auto where : {inline_work::if_brief, inline_work::never}) {
    const auto answers = a.look(all, where);
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ((*answers)[i]->is, i % 2 == 0 ? kind::held : kind::gone) << names[i];
  }
}

TEST_F(sqlite_store_test, one_unreadable_name_does_not_cost_the_others_their_leases) {
  moved_clock clock;
  sqlite_client a(folder.file(), clock);
  const std::vector<claim> both{make_claim("bad"), make_claim("good", 500ms)};
  for (const auto& one : both) ASSERT_GT(a.take(one), 0U);
  raw_database(folder.file()).run("update book set secret = x'00' where name = cast('bad' as blob) and seq > 0");
  clock.advance(400ms);
  const auto answers = a.look(both);
  ASSERT_TRUE(answers);
  EXPECT_FALSE(answers->at(0));
  ASSERT_TRUE(answers->at(1));
  EXPECT_EQ(answers->at(1)->is, kind::held);
  clock.advance(400ms);
  EXPECT_EQ(a.look(both[1])->is, kind::held) << "and it was renewed";
}

TEST_F(sqlite_store_test, hostile_names_are_kept_apart) {
  const std::vector<std::string> names{"'; drop table book; --",
                                       "a\"b",
                                       "%_",
                                       "x",
                                       "xx",
                                       "x/",
                                       "x/y",
                                       std::string(1024, 'k'),
                                       std::string(1023, 'k'),
                                       "\xf0\x9f\x94\x92",
                                       "\xff",
                                       "\xff\xff",
                                       "\x01\x80\xfe",
                                       "null",
                                       "0",
                                       " ",
                                       "\t"};
  sqlite_client a(folder.file()), b(folder.file());
  for (const auto& name : names) EXPECT_GT(a.take(make_claim(name)), 0U) << name;
  for (const auto& name : names) EXPECT_EQ(b.take(make_claim(name)), 0U) << name;
  std::set<std::string> seen;
  const auto page = b.survey({});
  for (const auto& one : page->locks) seen.insert(one.name);
  EXPECT_EQ(seen, std::set<std::string>(names.begin(), names.end()));
}

TEST_F(sqlite_store_test, survey_pages_by_name_and_leaves_idle_and_expired_ones_out) {
  moved_clock clock;
  client_options options;
  options.purpose = "testing surveys";
  sqlite_client a(folder.file(), clock, options), b(folder.file(), clock);
  std::vector<std::string> names;
  for (const char* name : {"p/a", "p/b", "p/c", "p/d", "p", "p0", "q\xff", "q\xff/1"}) names.emplace_back(name);
  for (const auto& name : names) ASSERT_GT(a.take(make_claim(name)), 0U);
  const auto waiter = make_claim("p/b");
  ASSERT_EQ(b.enter(waiter)->is, kind::waiting);
  const auto idle = make_claim("p/idle");
  ASSERT_GT(a.take(idle), 0U);
  ASSERT_EQ(*a.leave(idle), departure::released);
  ASSERT_GT(a.take(make_claim("p/short", 10ms)), 0U);
  clock.advance(50ms);

  const auto list = [&](survey_query what) {
    std::string out;
    const auto page = b.survey(std::move(what));
    for (const auto& one : page->locks) out += one.name + ' ';
    return out;
  };
  EXPECT_EQ(list({.prefix = "p/"}), "p/a p/b p/c p/d ");
  EXPECT_EQ(list({.prefix = "p", .exact = true}), "p ");
  EXPECT_EQ(list({.prefix = "q\xff"}), "q\xff q\xff/1 ");
  EXPECT_EQ(list({.prefix = "p/", .after = "p/b"}), "p/c p/d ");
  EXPECT_EQ(list({.prefix = "nothing"}), "");
  const auto page = b.survey({.prefix = "p/", .most = 2});
  ASSERT_EQ(page->locks.size(), 2U);
  EXPECT_TRUE(page->more);
  EXPECT_FALSE(b.survey({.prefix = "p/", .most = 4})->more);

  const auto& busy = page->locks[1];
  ASSERT_EQ(busy.holders.size(), 1U);
  EXPECT_EQ(busy.holders[0].pid, getpid());
  EXPECT_EQ(busy.holders[0].purpose, "testing surveys");
  ASSERT_EQ(busy.waiters.size(), 1U);
  EXPECT_EQ(busy.waiters[0].id, public_id(waiter.secret));
}

TEST_F(sqlite_store_test, eight_threads_of_two_clients_never_overlap) {
  sqlite_client a(folder.file()), b(folder.file());
  std::atomic<int> inside{0}, wins{0};
  int unprotected = 0;
  std::set<std::uint64_t> tokens;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      auto& client = i % 2 == 0 ? a : b;
      for (int round = 0; round < 25; ++round) {
        const auto mine = make_claim("counter");
        auto got = client.enter(mine, entry::queue, round % 2 == 0 ? inline_work::if_brief : inline_work::never);
        if (got && got->is == kind::waiting) {
          const auto told = client.events.grant_of(mine.secret);
          if (told) got = *told;
        }
        ASSERT_TRUE(got);
        ASSERT_EQ(got->is, kind::held);
        EXPECT_EQ(inside.fetch_add(1), 0);
        ++unprotected;
        EXPECT_TRUE(tokens.empty() || *tokens.rbegin() < got->token);
        tokens.insert(got->token);
        ++wins;
        inside.fetch_sub(1);
        EXPECT_EQ(*client.leave(mine), departure::released);
      }
    });
  for (auto& one : threads) one.join();
  EXPECT_EQ(wins.load(), 200);
  EXPECT_EQ(unprotected, 200);
  EXPECT_EQ(tokens.size(), 200U);
  EXPECT_EQ(raw_database(folder.file()).number("select count(*) from book where seq > 0"), 0) << "nothing is left";
}

}  // namespace
}  // namespace interlock::test
