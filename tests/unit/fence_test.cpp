// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using interlock::fencing_token;
using interlock::make_sequencer;
using interlock::parse_sequencer;
using interlock::parse_token;

constexpr std::uint64_t largest = 9223372036854775807u;

TEST(fence, admits_rising_and_equal_tokens_and_refuses_stale_ones) {
  interlock::fence fence;
  EXPECT_FALSE(fence.highest());
  EXPECT_TRUE(fence.admit(fencing_token{33}));
  EXPECT_TRUE(fence.admit(fencing_token{33}));
  EXPECT_TRUE(fence.admit(fencing_token{34}));
  EXPECT_FALSE(fence.admit(fencing_token{33}));
  EXPECT_EQ(fence.highest(), fencing_token{34});
}

TEST(fence, refuses_numbers_that_are_no_tokens_and_stays_open_for_real_ones) {
  interlock::fence fence;
  EXPECT_FALSE(fence.admit(fencing_token{0}));
  EXPECT_FALSE(fence.admit(fencing_token{largest + 1}));
  EXPECT_FALSE(fence.highest());
  EXPECT_TRUE(fence.admit(fencing_token{1}));
  EXPECT_TRUE(fence.admit(fencing_token{largest}));
}

TEST(fence, ends_at_the_highest_token_whatever_the_threads_did) {
  interlock::fence fence;
  std::vector<std::jthread> servers;
  for (std::uint64_t first = 1; first <= 4; ++first)
    servers.emplace_back([&fence, first] {
      for (std::uint64_t token = first; token <= 40'000; token += 4) {
        fence.admit(fencing_token{token});
        ASSERT_GE(fence.highest(), fencing_token{token});  // whether admitted or refused
      }
    });
  servers.clear();
  EXPECT_EQ(fence.highest(), fencing_token{40'000});
}

TEST(token_text, is_decimal_from_1_to_2_to_the_63_less_1_in_one_spelling) {
  EXPECT_EQ(parse_token("1"), fencing_token{1});
  EXPECT_EQ(parse_token("9223372036854775807"), fencing_token{largest});
  for (const auto* text : {"", "0", "00", "-1", "+1", " 1", "1 ", "01", "1.0", "1e3", "0x10", "9223372036854775808",
                           "18446744073709551616", "99999999999999999999999999", "1,2", "١"})
    EXPECT_FALSE(parse_token(text)) << '"' << text << '"';
  EXPECT_FALSE(parse_token(std::string_view{"1\0", 2}));
}

TEST(sequencer, reads_as_documented) {
  EXPECT_EQ(make_sequencer("billing/nightly", false, fencing_token{33}), "il1:x:33:billing/nightly");
  EXPECT_EQ(make_sequencer("a b:c%", true, fencing_token{7}), "il1:s:7:a%20b%3Ac%25");
}

TEST(sequencer, comes_back_as_what_went_in_for_any_name) {
  std::mt19937_64 random{20240607};  // NOLINT: the same names every time
  for (int round = 0; round < 2'000; ++round) {
    std::string name = "n";
    const auto length = 1 + random() % 40;
    while (name.size() < length) {
      const auto pick = random() % 100;
      if (pick == '.' - ' ') continue;  // "/./" is not a name
      name += pick < 95 ? std::string(1, static_cast<char>(' ' + pick)) : pick < 97 ? "\xC3\xA4" : "\xF0\x9F\x94\x92";
    }
    const bool shared = random() % 2 == 0;
    const fencing_token token{1 + random() % largest};
    const auto text = make_sequencer(name, shared, token);
    for (const char c : text) ASSERT_TRUE(c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != ',') << text;
    const auto parts = parse_sequencer(text);
    ASSERT_TRUE(parts) << text;
    ASSERT_EQ(parts->name, name);
    ASSERT_EQ(parts->shared, shared);
    ASSERT_EQ(parts->token, token);
  }
}

TEST(sequencer, differs_whenever_name_mode_or_token_differ) {
  const std::vector<std::string> names{"a",   "A",     "a ",        "a%20", "a%2520", "a:1",
                                       "1:a", "x:1:a", "il1:x:1:a", "a/b",  "a\\b"};
  std::set<std::string> seen;
  for (const auto& name : names)
    for (const bool shared : {false, true})
      for (const std::uint64_t token : {1u, 11u, 111u}) seen.insert(make_sequencer(name, shared, fencing_token{token}));
  EXPECT_EQ(seen.size(), names.size() * 2 * 3);
}

TEST(sequencer, has_no_second_spelling_and_rejects_what_no_guard_could_have_said) {
  for (const auto* text : {"",
                           "il1",
                           "il1:",
                           "il1:x",
                           "il1:x:",
                           "il1:x:1",
                           "il1:x:1:",
                           "il2:x:1:a",
                           "IL1:x:1:a",
                           " il1:x:1:a",
                           "il1:y:1:a",
                           "il1:xs:1:a",
                           "il1::1:a",
                           "il1:x:0:a",
                           "il1:x:01:a",
                           "il1:x:-1:a",
                           "il1:x:+1:a",
                           "il1:x::a",
                           "il1:x:9223372036854775808:a",
                           "il1:x:1:a b",
                           "il1:x:1:a\n",
                           "il1:x:1:a:b",
                           "il1:x:1:%",
                           "il1:x:1:%2",
                           "il1:x:1:%zz",
                           "il1:x:1:%3a",
                           "il1:x:1:%61",
                           "il1:x:1:%00",
                           "il1:x:1:%0A",
                           "il1:x:1:%7F",
                           "il1:x:1:\xC3\xA4",
                           "il1:x:1:%+1",
                           "il1:x:1:%%41",
                           "il1:x:1:%FF",
                           "il1:x:1:%C3",
                           "il1:x:1:a/../b"})
    EXPECT_FALSE(parse_sequencer(text)) << text;
  EXPECT_FALSE(parse_sequencer(std::string_view{"il1:x:1:a\0", 10}));
}

TEST(sequencer, of_a_megabyte_of_percent_signs_is_turned_down) {
  EXPECT_FALSE(parse_sequencer("il1:x:1:" + std::string(1 << 20, '%')));
}

}  // namespace
