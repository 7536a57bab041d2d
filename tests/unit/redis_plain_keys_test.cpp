// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/redis/packet.hpp"
#include "backends/redis/plain_keys.hpp"
#include "backends/redis/plain_notes.hpp"

#include <gtest/gtest.h>

#include <set>

namespace interlock::redis_store {
namespace {

TEST(plain_keys, what_is_beside_a_key_is_in_its_slot_and_is_nobody_elses) {
  std::set<std::string> seen;
  for (const char* const key : {"a", "{a}", "{a", "a}", "a}b", "{}", "{}a", "a{}b", "{a}b", "b{a}", "}{", "{{a}}",
                                "{a}{b}", "ilk1:{a}", "lock:a", "{a}:c", "a:", "a}:c", "{1}a}b"}) {
    EXPECT_EQ(slot_of(beside(key, 'c')), slot_of(key)) << key;
    EXPECT_TRUE(seen.insert(beside(key, 'c')).second) << key;
    EXPECT_TRUE(seen.insert(beside(key, 'n')).second) << key;
  }
}

TEST(plain_keys, a_template_gives_keys_and_takes_names_out_of_them) {
  const auto one = key_template::parse("key", "job-lock:default:*").value();
  EXPECT_EQ(one.key("orders"), "job-lock:default:orders");
  EXPECT_EQ(one.name("job-lock:default:orders"), "orders");
  EXPECT_FALSE(one.name("job-lock:default:"));
  EXPECT_FALSE(one.name("orders"));
  EXPECT_EQ(key_template::parse("key", "[*]").value().pattern("a*"), "\\[a\\**\\]");
  EXPECT_FALSE(key_template::parse("key", "orders"));
  EXPECT_FALSE(key_template::parse("key", "**"));
}

TEST(plain_keys, a_value_is_the_secret_and_its_id_is_the_claims) {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(i * 17);
  const claim_secret secret(bytes);
  const auto value = value_of(secret);
  const std::string_view text(value.data(), value.size());
  EXPECT_EQ(text, "00112233445566778899aabbccddeeff");
  EXPECT_EQ(secret_of(text), secret);
  EXPECT_EQ(id_of(text), public_id(secret));
  EXPECT_FALSE(secret_of("00112233445566778899AABBCCDDEEFF")) << "other bytes, so somebody else's";
  EXPECT_NE(id_of("00112233445566778899AABBCCDDEEFF"), id_of(text));
  EXPECT_NE(id_of("somebody"), id_of("somebody else"));
}

TEST(plain_notes, who_claims_survives_any_bytes) {
  const claim_origin from{"a host", "", std::string("3:x \0 4711", 10), -7};
  claim_info read;
  unpack_who(pack_who(&from), read);
  EXPECT_EQ(read.host, from.host);
  EXPECT_EQ(read.program, from.program);
  EXPECT_EQ(read.purpose, from.purpose);
  EXPECT_EQ(read.pid, from.pid);
  for (const char* const broken : {"", "x", "4711", "4711 ", "4711 99:ab", "4711 -1:ab", "4711 5", "4711 :::"}) {
    claim_info nothing;
    unpack_who(broken, nothing);
    EXPECT_LE(nothing.host.size(), 3U) << broken;
  }
}

}  // namespace
}  // namespace interlock::redis_store

#endif
