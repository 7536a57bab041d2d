// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/redis/redisson_names.hpp"
#include "backends/redis/packet.hpp"
#include "backends/redis/redisson_record.hpp"
#include "core/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace interlock::inline v1::redis_store::redisson {
namespace {

claim_secret secret(std::uint8_t first) {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(first + 16 * i);
  return claim_secret(bytes);
}

TEST(redisson_names, channels_and_keys_are_spelt_as_redisson_spells_them) {
  EXPECT_EQ(channel(object::lock, "orders", {}), "redisson_lock__channel:{orders}");
  EXPECT_EQ(channel(object::fenced, "{a}b", {}), "redisson_lock__channel:{a}b");
  EXPECT_EQ(channel(object::rw, "orders", {}), "redisson_rwlock:{orders}");
  EXPECT_EQ(channel(object::semaphore, "orders", {}), "redisson_sc:{orders}");
  EXPECT_EQ(channel(object::fair, "orders", secret(1)), "redisson_lock__channel:{orders}:" + owner_of(secret(1)));
  EXPECT_EQ(queue_key("orders"), "redisson_lock_queue:{orders}");
  EXPECT_EQ(deadlines_key("orders"), "redisson_lock_timeout:{orders}");
  EXPECT_EQ(token_key("orders"), "redisson_lock_token:{orders}");
  EXPECT_EQ(permits_key("orders"), "{orders}:timeout");
  EXPECT_EQ(timeout_key("rw", "u:7"), "{rw}:u:7:rwlock_timeout:1");
  EXPECT_EQ(timeout_key("{a}b", "u:7"), "{a}b:u:7:rwlock_timeout:1");
}

TEST(redisson_names, an_owner_is_a_version_4_uuid_and_a_thread_and_has_every_bit_of_the_secret) {
  EXPECT_EQ(owner_of(secret(0x01)), "01112131-4151-4171-8191-a1b1c1d1e1f1:26");
  EXPECT_EQ(owner_of(secret(0x0f)), "0f1f2f3f-4f5f-4f7f-8f9f-afbfcfdfefff:26");
  core::kernel_random random;
  std::set<std::string> owners;
  for (int i = 0; i < 1000; ++i) {
    const auto mine = random.secret();
    const auto owner = owner_of(mine);
    ASSERT_EQ(owner[14], '4');
    ASSERT_NE(std::string_view("89ab").find(owner[19]), std::string_view::npos);
    ASSERT_EQ(secret_of(owner), mine) << owner;
    owners.insert(owner);
  }
  EXPECT_EQ(owners.size(), 1000U);
}

TEST(redisson_names, what_is_no_owner_of_ours_is_not_read_as_one_but_has_a_handle_all_the_same) {
  const std::string uuid = "01112131-4151-4171-8191-a1b1c1d1e1f1";
  for (const auto& foreign : {uuid, uuid + ":", uuid + ":64", uuid + ":1x", uuid + ":01", uuid + ":-1", uuid + "x1",
                              "0" + uuid + ":1", "01112131-4151-1171-8191-a1b1c1d1e1f1:1" + std::string(),
                              "01112131-4151-4171-c191-a1b1c1d1e1f1:1" + std::string(),
                              "01112131_4151-4171-8191-a1b1c1d1e1f1:1" + std::string(),
                              "0111213G-4151-4171-8191-a1b1c1d1e1f1:1" + std::string(), std::string()})
    EXPECT_FALSE(secret_of(foreign)) << foreign;
  EXPECT_NE(id_of(uuid + ":64"), id_of(uuid + ":65"));
  EXPECT_EQ(id_of(owner_of(secret(9))), public_id(secret(9)));
}

TEST(redisson_names, what_interlock_keeps_is_apart_for_every_name_and_in_the_slot_of_the_name) {
  std::set<std::string> keys;
  for (const char* name : {"a", "{a}", "{a}b", "b{a}", "}", "a}b", "orders/42"}) {
    for (const auto& key : {book_key(name), line_key(name), limit_key(name), tomb_key(name, owner_of(secret(1)))}) {
      EXPECT_TRUE(keys.insert(key).second) << key;
      if (std::string_view(name).find('}') == std::string_view::npos || name[0] == '{') {
        EXPECT_EQ(slot_of(key), slot_of(name)) << key;
      }
    }
    EXPECT_EQ(name_of_book(book_key(name)), name);
  }
  EXPECT_FALSE(name_of_book("ilk1:{a}:b"));
  EXPECT_FALSE(name_of_book("ilk1:r:b:a"));
  EXPECT_FALSE(name_of_book("ilk1:r:w:{a}"));
}

TEST(redisson_names, permits_are_counted_up_in_their_last_four_bytes) {
  const std::string bytes(std::string("0123456789ab") + std::string("\x00\x00\xff\xff", 4));
  EXPECT_EQ(nth_permit(bytes, 0), bytes);
  EXPECT_EQ(nth_permit(bytes, 1), std::string("0123456789ab") + std::string("\x00\x01\x00\x00", 4));
  const auto last = std::string("0123456789ab") + std::string("\xff\xff\xff\xff", 4);
  EXPECT_EQ(nth_permit(last, 1), std::string("0123456789ab") + std::string("\x00\x00\x00\x00", 4)) << "it wraps";
}

TEST(redisson_record, who_made_a_claim_survives_the_book) {
  const claim_origin from{"host: 1", "a program", "purpose\nwith 3:a b", 4711};
  const auto back = parse_record("1794789844908 1794789844908914 3 s 2 " + pack_who("00ff", &from));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->since, 1794789844908);
  EXPECT_EQ(back->token, 1794789844908914U);
  EXPECT_EQ(back->tokens, 3U);
  EXPECT_EQ(back->mode, lock_mode::shared);
  EXPECT_EQ(back->weight, 2U);
  EXPECT_EQ(back->client, "00ff");
  EXPECT_EQ(back->origin.host, from.host);
  EXPECT_EQ(back->origin.program, from.program);
  EXPECT_EQ(back->origin.purpose, from.purpose);
  EXPECT_EQ(back->origin.pid, 4711);
}

TEST(redisson_record, what_is_no_record_is_not_read_as_one) {
  const auto good = "1 2 3 x 1 " + pack_who("c", nullptr);
  EXPECT_TRUE(parse_record(good));
  for (std::size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(parse_record(good.substr(0, length)));
  for (const char* bad : {"1794789844908914", "1 2 3 x 1 99999999999999999999:", "1 2 3 x 1 5:abc", "a b c d e f"})
    EXPECT_FALSE(parse_record(bad)) << bad;
}

}  // namespace
}  // namespace interlock::inline v1::redis_store::redisson

#endif
