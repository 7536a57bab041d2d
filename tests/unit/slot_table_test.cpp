// SPDX-License-Identifier: MIT
#include "engine/slot_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace interlock::inline v1::runtime {
namespace {

std::string numbered(int i) { return "orders/" + std::to_string(i); }

TEST(slot_table, finds_what_was_added_however_much_it_grew) {
  slot_table all;
  EXPECT_EQ(all.find("orders/0"), nullptr);
  std::set<slot*> made;
  for (int i = 0; i < 5000; ++i) {
    auto& one = all.add(numbered(i));
    EXPECT_EQ(one.name(), numbered(i));
    made.insert(&one);
  }
  EXPECT_EQ(made.size(), 5000U);
  for (int i = 0; i < 5000; ++i) {
    auto* const found = all.find(numbered(i));
    ASSERT_NE(found, nullptr) << i;
    EXPECT_EQ(found->full, numbered(i));
    EXPECT_TRUE(made.contains(found));
  }
  EXPECT_EQ(all.find("orders/5000"), nullptr);
  EXPECT_EQ(all.find("orders"), nullptr);
}

TEST(slot_table, names_of_every_length_are_told_apart) {
  slot_table all;
  std::string name;
  for (int i = 0; i < 300; ++i) {
    name += static_cast<char>('a' + i % 3);
    all.add(name).users = static_cast<std::uint32_t>(i);
  }
  for (int i = 299; i >= 0; --i) {
    ASSERT_NE(all.find(name), nullptr) << i;
    EXPECT_EQ(all.find(name)->users, static_cast<std::uint32_t>(i));
    name.pop_back();
  }
}

TEST(slot_table, only_what_is_unwanted_is_erased) {
  slot_table all;
  for (int i = 0; i < 1000; ++i) all.add(numbered(i)).users = static_cast<std::uint32_t>(i % 3);
  all.erase_if([](const slot& one) { return one.users == 0; });
  int left = 0;
  all.each([&](const slot& one) {
    EXPECT_NE(one.users, 0U);
    ++left;
  });
  EXPECT_EQ(left, 666);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(all.find(numbered(i)) == nullptr, i % 3 == 0) << i;
  for (int i = 0; i < 1000; i += 3) all.add(numbered(i));
  for (int i = 0; i < 1000; ++i) EXPECT_NE(all.find(numbered(i)), nullptr) << i;
}

}  // namespace
}  // namespace interlock::inline v1::runtime
