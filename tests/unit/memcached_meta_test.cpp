// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MEMCACHED

#include "backends/memcached/meta.hpp"
#include "backends/memcached/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

/// Keys, commands and replies, byte by byte.
namespace interlock::inline v1::memcached_store {
namespace {

using namespace std::chrono_literals;
using outcome = meta_parse::outcome;
using word = meta_reply::word;

std::string text(const item_key& key) { return std::string(std::string_view(key)); }

TEST(memcached_keys, are_the_name_itself_where_that_can_be_a_key) {
  EXPECT_EQ(text(lock_key("orders/42")), "ilk1ln:orders/42");
  EXPECT_EQ(text(token_key("orders/42")), "ilk1tn:orders/42");
  EXPECT_EQ(text(lock_key("caf\u00e9")), "ilk1ln:caf\u00e9");
}

TEST(memcached_keys, of_other_names_begin_readably_and_tell_names_apart) {
  const std::string same(1000, 'x');
  const std::vector<std::string> names{"two words",
                                       "two\nwords",
                                       "two_words\r\nmd x",
                                       std::string("a\0b", 3),
                                       " ",
                                       same,
                                       same + "y",
                                       std::string(201, 'x'),
                                       "a b",
                                       "a\tb",
                                       "\x7f"};
  std::set<std::string> all;
  for (const auto& name : names) {
    for (const auto& key : {text(lock_key(name)), text(token_key(name))}) {
      EXPECT_LE(key.size(), 250U) << name;
      EXPECT_TRUE(std::all_of(key.begin(), key.end(), is_plain)) << name;
      all.insert(key);
    }
  }
  EXPECT_EQ(all.size(), 2 * names.size());
  EXPECT_TRUE(text(lock_key("two words")).starts_with("ilk1lh:two_words~"));
  EXPECT_EQ(text(lock_key("two words")).size(), std::string("ilk1lh:two_words~").size() + 40);
}

TEST(memcached_commands, are_as_the_protocol_has_them) {
  std::string out;
  meta::create(out, "k", "value", 31, 0);
  meta::replace(out, "k", "v", 2, 1, 77);
  meta::remove(out, "k", 78);
  meta::read(out, "k");
  meta::count(out, "t", 3, 1000);
  EXPECT_EQ(out, "ms k 5 c ME T31\r\nvalue\r\n"
                 "ms k 1 c C77 T2 F1\r\nv\r\n"
                 "md k C78\r\n"
                 "mg k v c t\r\n"
                 "ma t v N0 J1000 D3\r\n");
}

TEST(memcached_commands, ask_for_one_second_more_and_never_for_part_of_one) {
  EXPECT_EQ(expiry_of(1ms), 2);
  EXPECT_EQ(expiry_of(1s), 2);
  EXPECT_EQ(expiry_of(1001ms), 3);
  EXPECT_EQ(expiry_of(30s), 31);
}

TEST(memcached_replies, are_read_whole_or_not_at_all) {
  const std::string all = "HD c123\r\nVA 5 c9 t-1\r\na\r\nb!\r\nNS\r\nEX\r\nNF\r\nEN\r\nSERVER_ERROR out of memory\r\n";
  std::vector<meta_reply> got;
  for (std::size_t at = 0; at < all.size();) {
    const auto rest = std::string_view(all).substr(at);
    const auto whole = parse_reply(rest);
    ASSERT_EQ(whole.is, outcome::complete) << rest;
    for (std::size_t cut = 0; cut < whole.used; ++cut)
      EXPECT_EQ(parse_reply(rest.substr(0, cut)).is, outcome::partial) << rest.substr(0, cut);
    got.push_back(whole.reply);
    at += whole.used;
  }
  ASSERT_EQ(got.size(), 7U);
  EXPECT_EQ(got[0].is, word::done);
  EXPECT_EQ(got[0].cas, 123U);
  EXPECT_EQ(got[1].data, "a\r\nb!");
  EXPECT_EQ(got[1].cas, 9U);
  EXPECT_EQ(got[1].left, -1);
  EXPECT_EQ(got[2].is, word::not_stored);
  EXPECT_EQ(got[3].is, word::changed);
  EXPECT_EQ(got[4].is, word::missing);
  EXPECT_EQ(got[5].is, word::missing);
  EXPECT_EQ(got[6].is, word::error);
  EXPECT_EQ(got[6].data, "SERVER_ERROR out of memory");
}

TEST(memcached_replies, that_make_no_sense_are_found_out) {
  for (const auto* bad : {"hello\r\n", "VA x\r\n", "VA -1\r\n", "VA 99999999999\r\n", "\r\n"})
    EXPECT_EQ(parse_reply(bad).is, outcome::malformed) << bad;
  EXPECT_EQ(parse_reply(std::string(4096, 'x')).is, outcome::malformed) << "a line without an end";
}

TEST(memcached_record, comes_back_as_it_was_written) {
  record one;
  std::array<std::byte, 16> secret{};
  secret[0] = std::byte{0xab};
  one.secret = claim_secret(secret);
  one.evicted = true;
  one.token = 18446744073709551615U;
  one.since = 1'700'000'000'123;
  one.from = {.host = "h", .program = "p q", .purpose = "two\nlines", .pid = 7};
  std::string written;
  write_record(written, one, one.from);
  const auto back = read_record(written);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->secret, one.secret);
  EXPECT_TRUE(back->evicted);
  EXPECT_EQ(back->token, one.token);
  EXPECT_EQ(back->since, one.since);
  EXPECT_EQ(back->from.pid, 7);
  EXPECT_EQ(back->from.host + back->from.program + back->from.purpose, "hp qtwo\nlines");
  for (std::size_t cut = 0; cut < written.find('\n'); ++cut) EXPECT_FALSE(read_record(written.substr(0, cut))) << cut;
  EXPECT_FALSE(read_record("somebody else's item"));
}

}  // namespace
}  // namespace interlock::inline v1::memcached_store

#endif
