// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "backends/postgres/advisory_key.hpp"
#include "backends/postgres/digests.hpp"

#include <gtest/gtest.h>

#include <string>

/// The keys that other libraries make of a name, as computed by them.
namespace interlock::postgres_store {
namespace {

advisory_key one(std::int64_t value) { return {value, false}; }
advisory_key two(std::int32_t first, std::int32_t second) {
  const auto upper = std::uint64_t{static_cast<std::uint32_t>(first)} << 32;
  return {static_cast<std::int64_t>(upper | static_cast<std::uint32_t>(second)), true};
}
advisory_key key(std::string_view name, key_rule by) { return advisory_key_of(name, by).value(); }

template <class Bytes>
std::string hex(const Bytes& bytes) {
  std::string out;
  for (const auto byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

TEST(digests, are_those_of_their_standards) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(hex(md5("").value()), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(md5("message digest").value()), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex(md5(std::string(80, '1')).value()), "7478ba1875f17511c12740431336a09e");
  EXPECT_EQ(hex(sha1("abc").value()), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(sha1("").value()), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

TEST(advisory_keys, of_medallion) {
  EXPECT_EQ(key("", key_rule::medallion), two(2147483647, -1));
  EXPECT_EQ(key("a", key_rule::medallion), two(-1023410177, -1));
  EXPECT_EQ(key("my-lock", key_rule::medallion), two(-605720883, -118112257));
  EXPECT_EQ(key("123456789", key_rule::medallion), two(1657379654, -1382303630));
  EXPECT_EQ(key("my-long-lock-name", key_rule::medallion), one(-6292990556957758089));
  EXPECT_EQ(key("orders:42:settle", key_rule::medallion), one(-7919611190636742434));
  EXPECT_EQ(key("00000000000000ff", key_rule::medallion), one(255));
  EXPECT_EQ(key("0000000a,ffffffff", key_rule::medallion), two(10, -1));
}

TEST(advisory_keys, of_the_others) {
  EXPECT_EQ(key("my-lock", key_rule::with_advisory_lock), two(1153040885, 0));
  EXPECT_EQ(key("my-lock", key_rule::django_pglocks), one(-994442763));
  EXPECT_EQ(key("my-lock", key_rule::sha256), one(6170642704201584368));
  EXPECT_EQ(key("my-lock", key_rule::symfony), one(3300524533));
  EXPECT_EQ(key("my-lock", key_rule::tooz), two(237, 162));
  EXPECT_EQ(key("\"public\".\"flyway_schema_history\"", key_rule::flyway), one(77431708279161 + 2125624436));
  EXPECT_EQ(key("my-lock", key_rule::rails), one(2053462845LL * 3300524533LL));
}

TEST(advisory_keys, that_are_numbers_are_taken_as_they_are) {
  EXPECT_EQ(key("42", key_rule::number), one(42));
  EXPECT_EQ(key("-9223372036854775808", key_rule::number), one(INT64_MIN));
  EXPECT_EQ(key("7,-42", key_rule::number), two(7, -42));
  for (const auto* bad : {"", "x", "1,", ",1", "1,2,3", "9223372036854775808", "2147483648,0", " 1"})
    EXPECT_EQ(advisory_key_of(bad, key_rule::number).error(), errc::invalid_argument) << bad;
}

TEST(advisory_keys, of_one_and_of_two_numbers_are_different) { EXPECT_NE(one(1), two(0, 1)); }

TEST(advisory_keys, rules_are_called_after_their_libraries) {
  for (const auto* known : {"sha256", "django-pglock", "django-pglocks", "flyway", "medallion", "number", "rails",
                            "symfony", "tooz", "with_advisory_lock"})
    EXPECT_TRUE(parse_key_rule(known)) << known;
  EXPECT_FALSE(parse_key_rule("md5"));
}

}  // namespace
}  // namespace interlock::postgres_store

#endif
