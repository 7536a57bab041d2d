// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/redis/native_keys.hpp"
#include "backends/redis/native_record.hpp"
#include "backends/redis/native_scripts.hpp"

#include <gtest/gtest.h>

#include <set>

namespace interlock {
namespace {

using namespace redis_store;

TEST(redis_native_keys, a_name_stands_in_braces_and_what_could_break_out_of_them_is_encoded) {
  std::string key;
  native::book_key(key, "orders/42");
  EXPECT_EQ(key, "ilk1:{orders/42}:b");
  native::book_key(key, "a}b{c%d e");
  EXPECT_EQ(key, "ilk1:{a%7Db%7Bc%25d%20e}:b");
}

TEST(redis_native_keys, every_name_has_one_key_and_is_found_again_from_it) {
  std::set<std::string> keys;
  std::vector<std::string> names{"a", "A", " ", "%", "%25", "{", "}", "{}", "}{", "a}:b", "\xc3\xa4", "*", "\\", "%7b"};
  for (int c = 1; c < 256; ++c) names.push_back("x" + std::string(1, static_cast<char>(c)));
  for (const auto& name : names) {
    std::string key;
    native::book_key(key, name);
    EXPECT_TRUE(keys.insert(key).second) << name;
    EXPECT_EQ(native::name_of_book(key), name);
  }
}

TEST(redis_native_keys, keys_we_would_not_write_are_nobodys_book) {
  for (const char* key : {"", "ilk1:{}:b", "ilk1:{a}:c", "ilk1:{a}", "x:{a}:b", "ilk1:{a{}:b", "ilk1:{%}:b",
                          "ilk1:{%4}:b", "ilk1:{%7b}:b", "ilk1:{%41}:b", "ilk1:{a b}:b", "ilk1:{%GG}:b"})
    EXPECT_FALSE(native::name_of_book(key)) << key;
}

TEST(redis_native_keys, all_keys_of_a_name_are_in_one_slot_and_names_are_spread) {
  std::set<std::uint16_t> slots;
  std::string key;
  for (int i = 0; i < 100; ++i) {
    native::book_key(key, "orders/" + std::to_string(i));
    const auto slot = slot_of(key);
    for (const char other : {'c', 'l', 'e'}) {
      key.back() = other;
      EXPECT_EQ(slot_of(key), slot);
    }
    slots.insert(slot);
  }
  EXPECT_GT(slots.size(), 90U);
}

TEST(redis_native_keys, a_question_names_the_key_that_the_book_has) {
  static const script asks("return 1");
  for (const std::string name : {"orders/42", "a}b{c%d e", "\xc3\xa4", "x"}) {
    std::string key;
    native::book_key(key, name);
    for (const auto keys : {native::told::book, native::told::all_keys}) {
      auto out = native::question(asks, keys, 1, 0);
      native::add_keys(out, name, keys);
      reply_parser parser;
      ASSERT_EQ(parser.parse(out.bytes()), reply_parser::outcome::complete);
      const auto words = parser.value();
      ASSERT_EQ(words.size(), 3 + static_cast<std::size_t>(keys));
      EXPECT_EQ(words[3].text(), key);
      EXPECT_EQ(out.slot(), slot_of(key));
      EXPECT_EQ(words[2 + static_cast<std::size_t>(keys)].text().back(), keys == native::told::book ? 'b' : 'l');
    }
  }
}

TEST(redis_native_keys, a_pattern_takes_the_prefix_as_bytes) {
  EXPECT_EQ(native::book_pattern(""), "ilk1:{*}:b");
  EXPECT_EQ(native::book_pattern("a*[b]?\\ "), "ilk1:{a\\*\\[b\\]\\?\\\\%20*}:b");
}

TEST(redis_native_scripts, are_put_together_without_what_only_people_read) {
  for (const auto* one : {&native::enter_script(), &native::look_script(), &native::leave_script(),
                          &native::convert_script(), &native::evict_script()}) {
    EXPECT_NE(one->text.find("LPOP"), std::string_view::npos) << "who is next is served by each of them";
    EXPECT_EQ(one->text.find("a part is missing"), std::string_view::npos);
    EXPECT_EQ(one->text.find("--"), std::string_view::npos);
  }
}

std::string grant(char mode = 0, std::uint64_t token = 7, char tokens = 1) {
  std::string out("g");
  out += mode;
  out += std::string(16, 's');
  for (int i = 0; i < 8; ++i) out += static_cast<char>(token >> (8 * i));
  return out + tokens + std::string(3, '\0') + '\2' + std::string(3, '\0');
}

TEST(redis_native_news, a_grant_says_whose_it_is_and_what_comes_with_it) {
  const auto read = native::read_news(grant(1, std::uint64_t{1} << 40, 3));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->evicted);
  EXPECT_EQ(native::bytes_of(read->whom), std::string(16, 's'));
  EXPECT_EQ(read->as.is, standing::kind::held);
  EXPECT_EQ(read->as.mode, lock_mode::shared);
  EXPECT_EQ(read->as.token, std::uint64_t{1} << 40);
  EXPECT_EQ(read->as.tokens, 3U);
  EXPECT_EQ(read->as.behind, 2U);
  const auto ended = native::read_news("e" + std::string(16, 's'));
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->evicted);
}

TEST(redis_native_news, anything_else_on_the_channel_is_no_news) {
  for (const auto& payload :
       {std::string(), std::string("g"), std::string("e"), grant().substr(1), grant() + "x", grant(2), grant(0, 0),
        grant(0, 7, 0), "e" + std::string(15, 's'), "e" + std::string(17, 's'), "x" + std::string(16, 's')})
    EXPECT_FALSE(native::read_news(payload)) << payload.size();
}

}  // namespace
}  // namespace interlock

#endif
