// SPDX-License-Identifier: MIT
// What Redis can do to the keys of interlock's own layout, and what strangers can.
#ifdef INTERLOCK_WITH_REDIS

#include "support/clocked_courier.hpp"
#include "support/redis_native_book.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;
using kind = standing::kind;
using std::chrono::microseconds;

struct heard final : backend_events {
  std::vector<claim_secret> grants;
  void granted(const claim_secret& who, const standing&) noexcept override { grants.push_back(who); }
  void evicted(const claim_secret&) noexcept override {}
  void look_again(const claim_secret&) noexcept override {}
  void link(bool) noexcept override {}
  void another_server() noexcept override {}
};

/// A server whose clock is moved by hand, and the layout on it.
class redis_native : public ::testing::Test {
 protected:
  redis_native() {
    layout = redis_store::make_native_layout({way, events, url, real_time()}).value();
    way.deliver_to(*layout);
    layout->begin();
    pass(0us);
  }
  void pass(microseconds time) { way.set_clock(now += time); }

  static claim writer(std::uint32_t n, std::string_view name = "x") {
    std::array<std::byte, 16> bytes{};
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(n >> (8 * i));
    return {.name = name, .secret = claim_secret(bytes), .lease = 30s, .wait_lease = 10s};
  }
  static claim reader(std::uint32_t n) {
    auto one = writer(n);
    one.mode = lock_mode::shared;
    one.weight = 1;
    return one;
  }
  result<standing> enter(const claim& who, entry how = entry::queue) {
    result<standing> out = failure(errc::internal);
    layout->enter(who, how, inline_work::never, [&](result<standing> got) { out = std::move(got); });
    return out;
  }
  standings look(const std::vector<claim>& whom) {
    standings out;
    layout->look(whom, inline_work::never, [&](result<standings> got) { out = std::move(got).value(); });
    return out;
  }
  kind look(const claim& who) { return look(std::vector{who}).at(0).value().is; }
  result<departure> leave(const claim& who, finality how = finality::answered) {
    result<departure> out = failure(errc::internal);
    layout->leave(who, how, inline_work::never, [&](result<departure> got) { out = std::move(got); });
    return out;
  }
  void say(std::initializer_list<std::string_view> words) {
    way.send(redis_store::packet(words), inline_work::never,
             [](const result<redis_store::reply>& said) { EXPECT_TRUE(said) << said.error().message(); });
  }
  std::int64_t time_to_live(char which) const { return server.command({"PTTL", book.key(which)}).number; }

  const redis_server server{{.users = {"mute on nopass ~* +@all resetchannels"}}};
  const redis_native_book book{server, "x"};
  microseconds now{2'000'000'000'000'000};  // later than the real one, by which others take a lease for over
  store_url url{};
  heard events;
  clocked_courier way{server};
  std::unique_ptr<redis_store::layout> layout;
};

TEST_F(redis_native, a_lone_claim_is_one_key_and_a_crowd_is_folded_up_when_it_has_gone) {
  EXPECT_EQ(enter(writer(1))->is, kind::held);
  EXPECT_EQ(book.keys(), "b");
  EXPECT_EQ(enter(writer(2))->is, kind::waiting);
  EXPECT_EQ(book.keys(), "bcl");
  EXPECT_EQ(*leave(writer(1)), departure::released);
  EXPECT_EQ(*leave(writer(2)), departure::released);
  EXPECT_EQ(book.keys(), "b");
  EXPECT_EQ(*leave(writer(3), finality::final), departure::gone);
  EXPECT_EQ(book.keys(), "bc") << "that it must not come is remembered";
  pass(61s);
  EXPECT_EQ(enter(writer(4))->is, kind::held);
  EXPECT_EQ(*leave(writer(4)), departure::released);
  EXPECT_EQ(book.keys(), "b");
}

TEST_F(redis_native, keys_outlive_the_claims_and_not_for_ever) {
  constexpr std::int64_t day = 24 * 3'600'000;
  auto long_one = writer(1);
  long_one.lease = 48h;
  ASSERT_EQ(enter(writer(1))->is, kind::held);
  EXPECT_GT(time_to_live('b'), day);
  EXPECT_LT(time_to_live('b'), 2 * day);
  EXPECT_EQ(look(long_one), kind::held);
  EXPECT_GT(time_to_live('b'), 3 * day - 60'000) << "or its token is forgotten before the lease is over";
  ASSERT_EQ(enter(writer(2))->is, kind::waiting);
  for (const char which : {'c', 'l'}) {
    EXPECT_GT(time_to_live(which), 2 * day - 60'000) << which;
    EXPECT_LT(time_to_live(which), 3 * day) << which;
  }
  ASSERT_EQ(*leave(writer(2)), departure::left);
  ASSERT_EQ(enter(writer(3))->is, kind::waiting);
  EXPECT_GT(time_to_live('l'), 0) << "a line that is new needs its end too";
}

TEST_F(redis_native, whichever_key_is_removed_the_name_can_be_locked_again) {
  for (const char which : {'b', 'c', 'l'}) {
    SCOPED_TRACE(which);
    const auto before = enter(writer(1)).value().token;
    ASSERT_EQ(enter(writer(2))->is, kind::waiting);
    server.command({"DEL", book.key(which)});
    pass(1s);
    EXPECT_EQ(look(writer(1)), which == 'l' ? kind::held : kind::gone);
    EXPECT_EQ(look(writer(2)), kind::gone);
    EXPECT_TRUE(leave(writer(1)));
    const auto next = enter(writer(3), entry::attempt).value();
    EXPECT_EQ(next.is, kind::held);
    EXPECT_GT(next.token, before);
    EXPECT_EQ(*leave(writer(3)), departure::released);
  }
}

TEST_F(redis_native, whoever_is_removed_by_hand_is_gone_and_the_others_move_up) {
  ASSERT_EQ(enter(writer(1))->is, kind::held);
  ASSERT_EQ(enter(writer(2))->is, kind::waiting);
  ASSERT_EQ(enter(writer(3))->is, kind::waiting);
  book.remove_holders();
  EXPECT_EQ(look(writer(3)), kind::waiting);
  EXPECT_EQ(look(writer(2)), kind::held);
  EXPECT_EQ(look(writer(1)), kind::gone);
}

TEST_F(redis_native, tokens_rise_also_when_the_servers_clock_steps_back) {
  const auto first = enter(writer(1)).value().token;
  EXPECT_TRUE(leave(writer(1)));
  pass(-3600s);
  const auto second = enter(writer(2)).value().token;
  EXPECT_GT(second, first);
  EXPECT_TRUE(leave(writer(2)));
  EXPECT_GT(enter(writer(3)).value().token, second);
}

TEST_F(redis_native, a_key_that_is_something_else_is_said_and_is_in_no_others_way) {
  server.command({"SET", "ilk1:{text}:b", "hello"});
  server.command({"RPUSH", "ilk1:{list}:b", "hello"});
  server.command({"SET", "ilk1:{short}:b", "s"});
  for (const char* name : {"text", "list"}) {
    EXPECT_EQ(enter(writer(1, name)).error(), errc::unsupported) << name;
    EXPECT_EQ(leave(writer(1, name)).error(), errc::unsupported) << name;
  }
  EXPECT_FALSE(enter(writer(1, "short")));
  ASSERT_EQ(enter(writer(1, "good"))->is, kind::held);
  ASSERT_EQ(enter(writer(2, "crowd"))->is, kind::held);
  ASSERT_EQ(enter(writer(3, "crowd"))->is, kind::waiting);
  ASSERT_EQ(enter(writer(4, "broken"))->is, kind::held);
  ASSERT_EQ(enter(writer(5, "broken"))->is, kind::waiting);
  server.command({"SET", "ilk1:{broken}:c", "hello"});
  const auto all = look({writer(1, "text"), writer(1, "good"), writer(1, "list"), writer(2, "crowd"),
                         writer(4, "broken"), writer(3, "crowd"), writer(1, "short"), writer(9, "nobody")});
  ASSERT_EQ(all.size(), 8U);
  for (const std::size_t bad : {0U, 2U, 4U, 6U}) EXPECT_FALSE(all[bad]) << bad;
  EXPECT_EQ(all[1]->is, kind::held);
  EXPECT_EQ(all[3]->is, kind::held);
  EXPECT_EQ(all[5]->is, kind::waiting);
  EXPECT_EQ(all[7]->is, kind::gone);
}

TEST_F(redis_native, a_channel_that_must_not_be_written_to_does_not_stop_a_release) {
  ASSERT_EQ(enter(writer(1))->is, kind::held);
  ASSERT_EQ(enter(writer(2))->is, kind::waiting);
  say({"AUTH", "mute", "any"});
  EXPECT_EQ(*leave(writer(1)), departure::released);
  way.deliver_news();
  EXPECT_TRUE(events.grants.empty());
  EXPECT_EQ(look(writer(2)), kind::held);
}

TEST_F(redis_native, a_full_server_still_renews_and_releases_a_crowd) {
  ASSERT_EQ(enter(writer(1))->is, kind::held);
  ASSERT_EQ(enter(writer(2))->is, kind::waiting);
  ASSERT_EQ(enter(writer(1, "alone"))->is, kind::held);
  pass(1s);
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(enter(writer(1, "new")).error(), errc::unavailable);
  EXPECT_EQ(look(writer(1)), kind::held);
  EXPECT_EQ(look(writer(2)), kind::waiting);
  EXPECT_EQ(look(writer(1, "alone")), kind::held);
  EXPECT_EQ(*leave(writer(1)), departure::released);
  EXPECT_EQ(look(writer(2)), kind::held);
  EXPECT_EQ(*leave(writer(2), finality::final), departure::released);
  EXPECT_EQ(*leave(writer(1, "alone")), departure::released);
}

TEST_F(redis_native, more_readers_than_are_let_in_at_once_come_in_one_operation_later) {
  constexpr std::uint32_t readers = 1100;
  ASSERT_EQ(enter(writer(0))->is, kind::held);
  for (std::uint32_t i = 1; i <= readers; ++i) ASSERT_EQ(enter(reader(i))->is, kind::waiting);
  EXPECT_EQ(*leave(writer(0)), departure::released);
  EXPECT_EQ(look(reader(readers)), kind::held);
  way.deliver_news();
  EXPECT_EQ(events.grants.size(), readers - 1) << "all but the one that asked";
}

TEST_F(redis_native, thousands_that_ran_out_are_in_nobodys_way) {
  ASSERT_EQ(enter(writer(0))->is, kind::held);
  for (std::uint32_t i = 1; i <= 1200; ++i) ASSERT_EQ(enter(reader(i))->is, kind::waiting);
  pass(31s);
  EXPECT_EQ(enter(writer(2000), entry::attempt)->is, kind::held);
  EXPECT_EQ(*leave(writer(2000)), departure::released);
  EXPECT_EQ(book.keys(), "b");
}

TEST_F(redis_native, when_many_in_the_line_run_out_the_others_keep_their_order) {
  constexpr std::uint32_t waiters = 24;
  ASSERT_EQ(enter(writer(0))->is, kind::held);
  for (std::uint32_t i = 1; i <= waiters; ++i) ASSERT_EQ(enter(writer(i))->is, kind::waiting);
  pass(9s);
  for (std::uint32_t i = 2; i <= waiters; i += 2) EXPECT_EQ(look(writer(i)), kind::waiting);
  pass(2s);
  const auto last = look(std::vector{writer(1), writer(waiters)});
  EXPECT_EQ(last[0]->is, kind::gone);
  EXPECT_EQ(last[1]->ahead, waiters / 2 - 1);
  EXPECT_GT(time_to_live('l'), 0);
  EXPECT_EQ(*leave(writer(0)), departure::released);
  for (std::uint32_t i = 2; i <= waiters; i += 2) EXPECT_EQ(*leave(writer(i)), departure::released) << i;
  EXPECT_EQ(book.keys(), "b");
}

TEST_F(redis_native, where_one_stands_is_told_also_when_others_before_and_behind_have_gone) {
  ASSERT_EQ(enter(writer(0))->is, kind::held);
  for (std::uint32_t i = 1; i <= 9; ++i) ASSERT_EQ(enter(writer(i))->is, kind::waiting);
  for (const std::uint32_t i : {2U, 5U, 8U, 9U}) ASSERT_EQ(*leave(writer(i)), departure::left);
  const auto all = look({writer(1), writer(3), writer(4), writer(6), writer(7)});
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->ahead, i);
}

TEST_F(redis_native, who_stands_twice_in_the_line_by_hand_is_served_once) {
  ASSERT_EQ(enter(writer(1))->is, kind::held);
  ASSERT_EQ(enter(writer(2))->is, kind::waiting);
  ASSERT_EQ(enter(writer(3))->is, kind::waiting);
  server.command({"LPUSH", book.key('l'), server.command({"LINDEX", book.key('l'), "0"}).text, "a stranger"});
  EXPECT_EQ(*leave(writer(1)), departure::released);
  EXPECT_EQ(look(writer(3)), kind::waiting);
  EXPECT_EQ(look(writer(2)), kind::held);
  EXPECT_EQ(*leave(writer(2)), departure::released);
  EXPECT_EQ(look(writer(3)), kind::held);
  EXPECT_EQ(*leave(writer(3)), departure::released);
}

TEST_F(redis_native, who_waits_is_told_the_end_that_is_in_the_way_and_not_one_that_was_extended) {
  ASSERT_EQ(enter(writer(1))->is, kind::held);
  ASSERT_EQ(enter(writer(2))->look_again_in, 10s) << "its own, which costs nothing: it asks before that";
  pass(6s);
  EXPECT_EQ(look({writer(1), writer(2)})[1]->look_again_in, 10s);
  EXPECT_EQ(enter(writer(3), entry::attempt)->look_again_in, 10s);
}

TEST_F(redis_native, what_others_publish_is_not_believed_on_another_channel) {
  const std::string grant = "g" + std::string(1, '\0') + std::string(16, 's') + "\1" + std::string(7, '\0') + "\1" +
                            std::string(3, '\0') + std::string(4, '\0');
  layout->message("ilk1:c:somebody", grant);
  EXPECT_TRUE(events.grants.empty());
}

TEST(redis_native_deaf, who_may_not_listen_asks_often_instead) {
  const redis_server server({.users = {"mute on >secret ~* +@all resetchannels"}});
  const client rich(server.url());
  const client mute("redis://mute:secret@127.0.0.1:" + std::to_string(server.port()));
  auto held = rich.acquire("x");
  auto wait = mute.async_acquire("x");
  std::this_thread::sleep_for(200ms);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(wait.get().valid());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s) << "it waited for its lease's third";
}

}  // namespace
}  // namespace interlock

#endif
