// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/redis/cluster_map.hpp"
#include "backends/redis/packet.hpp"
#include "backends/redis/resp.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace interlock::redis_store {
namespace {

using outcome = reply_parser::outcome;
using kind = reply::kind;

struct parsed {
  reply_parser parser{};
  std::string bytes{};
  outcome got{};
  explicit parsed(std::string text, reply_parser::limits most = {}) : parser(most), bytes(std::move(text)) {
    got = parser.parse(bytes);
  }
  [[nodiscard]] reply value() const { return parser.value(); }
};

TEST(redis_resp, reads_every_type) {
  EXPECT_EQ(parsed("+OK\r\n").value().text(), "OK");
  EXPECT_EQ(parsed("-ERR no\r\n").value().is(), kind::error);
  EXPECT_EQ(parsed(":-42\r\n").value().number(), -42);
  EXPECT_EQ(parsed("$5\r\na\r\nbc\r\n").value().text(), "a\r\nbc");
  EXPECT_TRUE(parsed("$-1\r\n").value().nil());
  EXPECT_TRUE(parsed("*-1\r\n").value().nil());
  EXPECT_TRUE(parsed("_\r\n").value().nil());
  EXPECT_EQ(parsed("#t\r\n").value().number(), 1);
  EXPECT_EQ(parsed(",3.25\r\n").value().text(), "3.25");
  EXPECT_EQ(parsed("(12345678901234567890123\r\n").value().text(), "12345678901234567890123");
  EXPECT_EQ(parsed("=7\r\ntxt:abc\r\n").value().text(), "abc");
  EXPECT_EQ(parsed("!9\r\nERR wrong\r\n").value().is(), kind::error);
  EXPECT_EQ(parsed(">2\r\n+message\r\n:1\r\n").value().is(), kind::push);
  const parsed map("%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n:2\r\n:3\r\n");
  ASSERT_EQ(map.got, outcome::complete);
  EXPECT_EQ(map.value().size(), 4U);
  EXPECT_EQ(map.value()[3][1].number(), 3);
  EXPECT_TRUE(map.value()[4].nil());
}

TEST(redis_resp, reads_numbers_of_every_length_and_nothing_that_is_none) {
  for (const std::string digits : {"0", "7", "42", "+42", "-1", "007", "999999999999999999", "1000000000000000000",
                                   "9223372036854775807", "-9223372036854775808"}) {
    const parsed one(":" + digits + "\r\n:5\r\n");
    ASSERT_EQ(one.got, outcome::complete) << digits;
    EXPECT_EQ(one.value().number(), std::stoll(digits));
    EXPECT_EQ(one.parser.used(), digits.size() + 3);
    for (std::size_t cut = 0; cut < digits.size() + 3; ++cut)
      EXPECT_EQ(parsed((":" + digits + "\r\n").substr(0, cut)).got, outcome::incomplete) << digits << " cut at " << cut;
  }
  for (const std::string none :
       {"", "-", "+", "1x", "x1", " 1", "1 ", "1-", "9223372036854775808", "99999999999999999999"})
    EXPECT_EQ(parsed(":" + none + "\r\n").got, outcome::malformed) << none;
  EXPECT_EQ(parsed(":12\rx").got, outcome::malformed);
}

TEST(redis_resp, every_digit_of_a_number_counts_and_every_other_byte_is_seen) {
  const std::string digits = "9182736455463728190";
  for (std::size_t length = 1; length <= 18; ++length) {
    const auto number = digits.substr(0, length);
    const parsed list("*3\r\n:" + number + "\r\n:2\r\n:" + number + "\r\n");
    ASSERT_EQ(list.got, outcome::complete) << number;
    EXPECT_EQ(list.value()[0].number(), std::stoll(number));
    EXPECT_EQ(list.value()[1].number(), 2);
    EXPECT_EQ(list.value()[2].number(), std::stoll(number));
    for (std::size_t at = 0; at < length; ++at)
      for (const char wrong : {'/', ':', 'x', '\x00', '\xb5', '\xff'}) {
        auto spoilt = number;
        spoilt[at] = wrong;
        EXPECT_EQ(parsed(":" + spoilt + "\r\n").got, outcome::malformed) << number << " at " << at;
        EXPECT_EQ(parsed("*1\r\n:" + spoilt + "\r\n").got, outcome::malformed) << number << " at " << at;
      }
  }
}

TEST(redis_resp, skips_attributes_and_says_how_many_bytes_it_took) {
  const parsed with("|1\r\n+ttl\r\n:3\r\n*1\r\n:7\r\n+next\r\n");
  ASSERT_EQ(with.got, outcome::complete);
  EXPECT_EQ(with.value()[0].number(), 7);
  EXPECT_EQ(with.parser.used(), with.bytes.size() - 7);
}

TEST(redis_resp, a_reply_cut_anywhere_is_incomplete_and_then_the_same) {
  const std::string whole = "*4\r\n$3\r\nabc\r\n%1\r\n+k\r\n,1.5\r\n:12\r\n_\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(parsed(whole.substr(0, size)).got, outcome::incomplete) << size;
  EXPECT_EQ(parsed(whole).got, outcome::complete);
}

TEST(redis_resp, a_hostile_server_is_bounded) {
  const reply_parser::limits small{.bytes = 1000, .values = 50, .depth = 3};
  EXPECT_EQ(parsed("$1001\r\n", small).got, outcome::malformed);
  EXPECT_EQ(parsed("*51\r\n", small).got, outcome::malformed);
  EXPECT_EQ(parsed("*-2\r\n").got, outcome::malformed);
  EXPECT_EQ(parsed("$99999999999999999999\r\n").got, outcome::malformed);
  EXPECT_EQ(parsed("*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", small).got, outcome::malformed);
  EXPECT_EQ(parsed(std::string(1001, '+'), small).got, outcome::malformed);
  EXPECT_EQ(parsed("*1\r\n>1\r\n:1\r\n").got, outcome::malformed);
  EXPECT_EQ(parsed("HTTP/1.1 400 Bad Request\r\n").got, outcome::malformed);
  EXPECT_EQ(parsed(":1x\r\n").got, outcome::malformed);
  EXPECT_EQ(parsed("+a\rb\r\n").got, outcome::malformed);
  std::string attributes;
  for (int i = 0; i < 100'000; ++i) attributes += "|0\r\n";
  EXPECT_EQ(parsed(attributes).got, outcome::malformed);
}

TEST(redis_resp, random_bytes_never_break_the_parser) {
  std::mt19937 random(20261116);
  const std::string letters = "+-:$*_#,(=!%~>|0123456789\r\n\r\nab-";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += letters[random() % letters.size()];
    const parsed one(text);
    if (one.got == outcome::complete) {
      EXPECT_LE(one.parser.used(), text.size());
    }
  }
}

TEST(redis_packet, slots_are_those_of_a_cluster) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_EQ(slot_of("foo{}{bar}"), slot_of("foo{}{bar}"));
  EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar"));
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
}

TEST(redis_packet, a_call_by_digest_becomes_one_by_text) {
  const script one("return 1");
  EXPECT_EQ(one.sha, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  packet out(one, {"key"}, 1);
  out.arg(std::int64_t{-7});
  EXPECT_EQ(out.bytes(), "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" + one.sha + "\r\n$1\r\n1\r\n$3\r\nkey\r\n$2\r\n-7\r\n");
  EXPECT_EQ(with_text(out.bytes(), one), "*5\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$3\r\nkey\r\n$2\r\n-7\r\n");
  EXPECT_EQ(out.slot(), slot_of("key"));
}

TEST(redis_cluster_map, redirects_are_read_strictly) {
  const endpoint asked{.host = "10.0.0.1", .port = 7000, .path = {}};
  const auto moved = read_redirect("MOVED 3999 127.0.0.1:6381", asked);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->where.shown(), "127.0.0.1:6381");
  EXPECT_EQ(read_redirect("ASK 1 :7001", asked)->where.shown(), "10.0.0.1:7001");
  EXPECT_EQ(read_redirect("MOVED 1 ::1:7001", asked)->where.shown(), "[::1]:7001");
  for (const auto* bad : {"MOVED", "MOVED x a:1", "MOVED 16384 a:1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:70000"})
    EXPECT_FALSE(read_redirect(bad, asked)) << bad;
}

TEST(redis_cluster_map, reads_what_cluster_slots_says) {
  const endpoint asked{.host = "h", .port = 1, .path = {}};
  const parsed good("*2\r\n*3\r\n:0\r\n:9999\r\n*3\r\n$1\r\na\r\n:7\r\n$2\r\nid\r\n*4\r\n:10000\r\n:16383\r\n*2\r\n$"
                    "0\r\n\r\n:8\r\n*2\r\n$1\r\nr\r\n:9\r\n");
  const auto map = read_cluster_map(good.value(), asked);
  ASSERT_TRUE(map);
  ASSERT_EQ(map->masters.size(), 2U);
  EXPECT_EQ(map->masters[map->owner[9999]].shown(), "a:7");
  EXPECT_EQ(map->masters[map->owner[16383]].shown(), "h:8");
  for (const auto* bad : {"*0\r\n", "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n+a\r\n:7\r\n",
                          "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n+a\r\n:7\r\n", "+x\r\n"})
    EXPECT_FALSE(read_cluster_map(parsed(bad).value(), asked)) << bad;
}

}  // namespace
}  // namespace interlock::redis_store

#endif
