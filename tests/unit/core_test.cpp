// SPDX-License-Identifier: MIT
#include "core/handoff.hpp"
#include "core/names.hpp"
#include "core/sha256.hpp"
#include "core/timetable.hpp"

#include <interlock/url.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using interlock::errc;
using interlock::instant;
using namespace interlock::core;

std::string hex_sha256(std::string_view text) {
  std::string out;
  for (const auto byte : sha256(std::as_bytes(std::span(text)))) {
    out += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    out += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

TEST(sha256, agrees_with_the_published_examples) {
  EXPECT_EQ(hex_sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(sha256, is_the_same_with_and_without_the_processors_help) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(sha256(std::as_bytes(std::span(text))), sha256_portable(std::as_bytes(std::span(text)))) << i;
    text += static_cast<char>(i * 37);
  }
}

TEST(sha256, its_half_of_sixteen_bytes_is_the_half_of_the_whole) {
  std::array<std::byte, 16> data{};
  for (int i = 0; i < 300; ++i) {
    const auto whole = sha256(data);
    const auto half = half_sha256(data);
    EXPECT_TRUE(std::equal(half.begin(), half.end(), whole.begin())) << i;
    data[static_cast<std::size_t>(i) % data.size()] ^= static_cast<std::byte>(i * 37 + 1);
  }
}

TEST(timetable, gives_the_earliest_whatever_was_moved_or_taken_out) {
  std::mt19937 random(7);
  std::vector<timed> all(500);
  timetable table;
  for (int step = 0; step < 20'000; ++step) {
    auto& one = all[random() % all.size()];
    if (random() % 4 == 0)
      table.take_out(one);
    else
      table.set(one, random() % 4 == 0 ? instant::max() : instant(std::chrono::nanoseconds(random() % 100'000)));
    const auto earliest =
        std::min_element(all.begin(), all.end(), [](const timed& a, const timed& b) { return a.due < b.due; });
    ASSERT_LE(table.not_before(), earliest->due);
    if (random() % 2 == 0) continue;  // asking brings order, which must not be needed
    ASSERT_EQ(table.next(), earliest->due);
  }
}

TEST(timetable, what_was_put_off_is_due_at_its_new_time_and_what_was_called_off_never) {
  timed early, late, never;
  timetable table;
  for (auto* one : {&early, &late, &never}) table.set(*one, instant(1s));
  table.set(late, instant(3s));
  table.set(never, instant::max());
  EXPECT_EQ(table.take_due(instant(2s)), &early);
  EXPECT_EQ(table.take_due(instant(2s)), nullptr);
  EXPECT_EQ(table.next(), instant(3s));
  EXPECT_EQ(table.take_due(instant(3s)), &late);
  EXPECT_EQ(table.next(), instant::max());
}

handoff_facts easy() {
  handoff_facts f;
  f.now = instant(1h);
  f.until = f.now + 20s;
  f.run_started = f.now;
  f.lease = 30s;
  f.tokens_left = 10;
  return f;
}

TEST(handoff, passes_on_while_nobody_else_queues) {
  auto f = easy();
  f.run = 1000;
  EXPECT_EQ(decide(f), handoff::pass_on);
}

TEST(handoff, gives_back_after_sixteen_when_others_queue) {
  auto f = easy();
  f.behind = 1;
  f.run = 15;
  EXPECT_EQ(decide(f), handoff::pass_on);
  f.run = 16;
  EXPECT_EQ(decide(f), handoff::give_back);
}

TEST(handoff, asks_the_store_every_fifty_milliseconds_and_gives_back_if_others_queue) {
  auto f = easy();
  f.now = f.run_started + 50ms;
  EXPECT_EQ(decide(f), handoff::ask_first);
  f.run_started = f.now;
  f.asked = true;
  EXPECT_EQ(decide(f), handoff::pass_on);
  f.behind = 1;
  EXPECT_EQ(decide(f), handoff::give_back);
}

TEST(handoff, gives_back_if_the_store_was_asked_for_tokens_and_makes_none) {
  auto f = easy();
  f.tokens_left = 0;
  EXPECT_EQ(decide(f), handoff::ask_first);
  f.asked = true;
  EXPECT_EQ(decide(f), handoff::give_back);
}

TEST(handoff, never_passes_on_what_is_in_doubt_or_was_shown_around) {
  for (const auto spoil :
       {+[](handoff_facts& f) { f.jeopardy = true; }, +[](handoff_facts& f) { f.published = true; },
        +[](handoff_facts& f) { f.next_fits = false; }, +[](handoff_facts& f) { f.until = f.now + 9s; }}) {
    auto f = easy();
    spoil(f);
    EXPECT_EQ(decide(f), handoff::give_back);
  }
  auto f = easy();
  f.tokens_left = 0;
  EXPECT_EQ(decide(f), handoff::ask_first);
}

TEST(names, every_rule_is_named_when_it_is_broken) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "empty"},
      {std::string(1025, 'x'), "longer than 1024"},
      {std::string(1 << 20, 'x'), "longer than 1024"},
      {std::string("a\0b", 3), "control"},
      {"a\nb", "control"},
      {"a\x7f", "control"},
      {"\xff", "UTF-8"},
      {"\xc0\xaf", "UTF-8"},
      {"\xed\xa0\x80", "UTF-8"},
      {"\xf4\x90\x80\x80", "UTF-8"},
      {"abc\xe2\x82", "UTF-8"},
      {"..", "\"..\""},
      {"a/../b", "\"..\""},
      {"./a", "\".\""},
  };
  for (const auto& [name, rule] : bad) {
    const auto checked = check_name(name, 1024);
    ASSERT_FALSE(checked) << shown_name(name);
    EXPECT_EQ(checked.error(), errc::invalid_argument);
    EXPECT_NE(checked.error().message().find(rule), std::string::npos) << checked.error().message();
    EXPECT_LT(checked.error().message().size(), 200u);
  }
  for (const std::string good :
       {"a", "a/b", "a/b/", "/", "...", "a..b", "lock with spaces", "'; drop table x; --", "\xf0\x9f\x94\x92"})
    EXPECT_TRUE(check_name(good, 1024)) << good;
}

TEST(url, is_taken_apart) {
  const auto got = interlock::parse_url("redis+sentinel://me:p%40ss@h1:7,[::1]:8,h3/my%20master?layout=plain&lease=5s");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->scheme, "redis+sentinel");
  EXPECT_EQ(got->user, "me");
  EXPECT_EQ(got->password, "p@ss");
  ASSERT_EQ(got->endpoints.size(), 3u);
  EXPECT_EQ(got->endpoints[1].host, "::1");
  EXPECT_EQ(got->endpoints[1].port, 8);
  EXPECT_FALSE(got->endpoints[2].port);
  EXPECT_EQ(got->path, "/my master");
  EXPECT_EQ(got->options.at("layout"), "plain");
  EXPECT_EQ(got->shown().find("p@ss"), std::string::npos);
  EXPECT_EQ(interlock::parse_url("sqlite:/a/b.db")->path, "/a/b.db");
  EXPECT_EQ(interlock::parse_url("memory:")->path, "");
}

TEST(url, what_is_shown_can_be_read_back) {
  for (const std::string text :
       {"sqlite:/100%25/what%3F.db?lease=5s", "redis://m%3Ae%40@h1:7,[::1]:8/0?key=a%26b%25*&layout=plain",
        "redis+unix:/run/a%20b.sock", "memory:"}) {
    const auto once = interlock::parse_url(text);
    ASSERT_TRUE(once) << once.error().message();
    EXPECT_EQ(once->shown(), text);
  }
}

TEST(url, bad_ones_are_refused_with_the_part_named) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "scheme"},          {"no-colon", "scheme"},   {"UPPER:x", "scheme"},   {"x://h:0", "port"},
      {"x://h:65536", "port"}, {"x://h:abc", "port"},    {"x://h:", "port"},      {"x://,h", "host"},
      {"x://h,", "host"},      {"x://[::1", "]"},        {"x:/a%zz", "%"},        {"x:/a%4", "%"},
      {"x:/a%00", "%"},        {"x:?novalue", "option"}, {"x:?a=1&a=2", "twice"},
  };
  for (const auto& [text, part] : bad) {
    const auto got = interlock::parse_url(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error(), errc::invalid_argument);
    EXPECT_NE(got.error().message().find(part), std::string::npos) << text << ": " << got.error().message();
  }
}

TEST(duration, is_a_number_and_a_unit) {
  EXPECT_EQ(*interlock::parse_duration("250ms"), 250ms);
  EXPECT_EQ(*interlock::parse_duration("5s"), 5s);
  EXPECT_EQ(*interlock::parse_duration("2m"), 2min);
  EXPECT_EQ(*interlock::parse_duration("1h"), 1h);
  for (const char* bad : {"", "5", "s", "-5s", "+5s", "1.5s", "5 s", "5sec", "99999999999s", "0x5s", "1h30m"})
    EXPECT_FALSE(interlock::parse_duration(bad)) << bad;
}

}  // namespace
