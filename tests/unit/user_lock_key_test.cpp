// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "backends/mysql/user_lock_key.hpp"

#include <gtest/gtest.h>

namespace interlock {
namespace {

using mysql_store::key_rule;
using mysql_store::user_lock_key;

// Computed by the library whose rule it is.
TEST(user_lock_key, is_the_one_that_medallion_gives_a_name) {
  EXPECT_EQ(user_lock_key("my-lock", key_rule::medallion).value(), "my-lock");
  EXPECT_EQ(user_lock_key("My-Lock", key_rule::medallion).value(), "my-lockq6fijnemmcavsnkqntio2l23ypp3kuqi");
  EXPECT_EQ(user_lock_key("", key_rule::medallion).value(), "__empty__p6ad62yppho33ytkibum5wbqhqvbcsxa");
}

TEST(user_lock_key, fits_whatever_the_name_is_and_differs_where_names_do) {
  const std::string longer(1000, 'x');
  const auto one = user_lock_key(longer + "1", key_rule::medallion).value();
  const auto other = user_lock_key(longer + "2", key_rule::medallion).value();
  EXPECT_EQ(one.size(), 64U);
  EXPECT_NE(one, other);
  EXPECT_EQ(user_lock_key(std::string(64, 'x'), key_rule::medallion).value(), std::string(64, 'x'));
  EXPECT_NE(user_lock_key("a", key_rule::medallion).value(), user_lock_key("A", key_rule::medallion).value());
  EXPECT_NE(user_lock_key("\U0001F512", key_rule::medallion).value(),
            user_lock_key("\U0001F513", key_rule::medallion).value());
}

TEST(user_lock_key, of_the_plain_rule_is_the_name_or_refused) {
  EXPECT_EQ(user_lock_key("orders:42", key_rule::plain).value(), "orders:42");
  for (const auto& name : {std::string("Orders"), std::string(65, 'x'), std::string("caf\u00e9"), std::string()})
    EXPECT_EQ(user_lock_key(name, key_rule::plain).error().kind(), errc::invalid_argument) << name;
}

}  // namespace
}  // namespace interlock

#endif
