// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/redis_sentinels.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

/// Sentinels have users of their own: neither those of the servers, nor always any.
namespace interlock {
namespace {

using test_support::redis_options;
using test_support::redis_sentinels;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto locker =
    "locker on >secret ~ilk1:* &ilk1:* +hello +info +eval +evalsha +subscribe +unsubscribe +publish +time "
    "+get +set +setrange +del +pexpire +lpop +lpush +rpush +lindex +lrange +lrem "
    "+hget +hset +hsetnx +hdel +hlen +hvals +hgetall +scan +auth";  // AUTH is for protocol=2

constexpr auto own_password = "requirepass apart";
constexpr auto own_user = "user watcher on >apart -@all +auth +hello +info +sentinel|get-master-addr-by-name";

redis_options with_locker() {
  redis_options out;
  out.users = {locker};
  return out;
}

// The first holds, the second finds it busy: both were led to the same master.
void expect_locks(const std::string& url) {
  const client one(url), other(url);
  const auto held = one.try_acquire("a");
  EXPECT_TRUE(held.has_value()) << url;
  EXPECT_FALSE(other.try_acquire("a").has_value()) << url;
}

failure refusal_of(const std::string& url) {
  try {
    const client locks(url);
    ADD_FAILURE() << "connected";
    return failure(errc::busy, "connected");
  } catch (const lock_error& wrong) {
    return wrong.why();
  }
}

// How often a sentinel has turned somebody away for the password.
std::int64_t refusals(redis_sentinels& servers, const std::string& user) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const auto& entry : servers.sentinel(i).command({"ACL", "LOG"}).list) {
      bool hers = false;
      std::int64_t count = 0;
      for (std::size_t at = 0; at + 1 < entry.size(); at += 2) {
        if (entry[at] == "username") hers = entry[at + 1] == user;
        if (entry[at] == "count") count = entry[at + 1].number;
      }
      if (hers) out += count;
    }
  }
  return out;
}

TEST(redis_sentinel_users, a_user_that_only_the_servers_know_is_enough) {
  redis_sentinels servers(with_locker());
  expect_locks(servers.url_as("locker:secret"));
  expect_locks(servers.url_as("locker:secret", "protocol=2"));
}

TEST(redis_sentinel_users, a_password_that_only_the_servers_need_is_enough) {
  redis_sentinels servers({.password = "secret"});
  expect_locks(servers.url_as(":secret"));
  expect_locks(servers.url_as(":secret", "protocol=2"));
}

TEST(redis_sentinel_users, a_sentinel_that_knows_no_users_is_shown_none_the_next_time) {
  redis_sentinels servers(with_locker());
  const client locks(servers.url_as("locker:secret"));
  EXPECT_EQ(refusals(servers, "locker"), 1);
  for (int i = 0; i < 3; ++i) {
    servers.master().command({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_TRUE(locks.attempt("a", {}).has_value());
  }
  EXPECT_EQ(refusals(servers, "locker"), 1);
}

TEST(redis_sentinel_users, a_sentinel_that_wants_another_password_is_named_and_so_is_the_option) {
  redis_sentinels servers(with_locker(), {own_password});
  for (const auto* protocol : {"", "protocol=2"}) {
    const auto why = refusal_of(servers.url_as("locker:secret", protocol));
    EXPECT_EQ(why.kind(), errc::denied) << why.message();
    EXPECT_THAT(why.message(), HasSubstr("127.0.0.1:" + std::to_string(servers.sentinel(2).port())));
    EXPECT_THAT(why.message(), HasSubstr("WRONGPASS"));
    EXPECT_THAT(why.message(), HasSubstr("sentinel_password"));
    EXPECT_THAT(why.message(), Not(HasSubstr("secret")));
  }
}

TEST(redis_sentinel_users, a_password_is_asked_for_if_the_url_has_none) {
  redis_sentinels servers({}, {own_password});
  const auto why = refusal_of(servers.url());
  EXPECT_EQ(why.kind(), errc::denied) << why.message();
  EXPECT_THAT(why.message(), HasSubstr("127.0.0.1:" + std::to_string(servers.sentinel(2).port())));
  EXPECT_THAT(why.message(), HasSubstr("NOAUTH"));
  EXPECT_THAT(why.message(), HasSubstr("sentinel_password"));
}

TEST(redis_sentinel_users, sentinels_may_have_a_password_of_their_own) {
  redis_sentinels servers(with_locker(), {own_password});
  expect_locks(servers.url_as("locker:secret", "sentinel_password=apart"));
  expect_locks(servers.url_as("locker:secret", "sentinel_password=apart&protocol=2"));
  const auto why = refusal_of(servers.url_as("locker:secret", "sentinel_password=wrong"));
  EXPECT_EQ(why.kind(), errc::denied) << why.message();
}

TEST(redis_sentinel_users, sentinels_may_have_a_user_of_their_own_with_few_rights) {
  redis_sentinels servers(with_locker(), {own_user});
  for (std::size_t i = 0; i < 3; ++i) servers.sentinel(i).command({"ACL", "SETUSER", "default", "off"});
  expect_locks(servers.url_as("locker:secret", "sentinel_user=watcher&sentinel_password=apart"));
  expect_locks(servers.url_as("locker:secret", "sentinel_user=watcher&sentinel_password=apart&protocol=2"));
}

TEST(redis_sentinel_users, a_user_without_the_right_to_ask_is_said_with_the_sentinel) {
  redis_sentinels servers({}, {"user watcher on >apart -@all +hello +info"});
  const auto why = refusal_of(servers.url("sentinel_user=watcher&sentinel_password=apart"));
  EXPECT_EQ(why.kind(), errc::denied) << why.message();
  EXPECT_THAT(why.message(), HasSubstr("NOPERM"));
  EXPECT_THAT(why.message(), HasSubstr("127.0.0.1:" + std::to_string(servers.sentinel(2).port())));
}

TEST(redis_sentinel_users, the_password_for_sentinels_is_never_shown) {
  redis_sentinels servers(with_locker(), {own_password});
  const client locks(servers.url_as("locker:secret", "sentinel_password=apart"));
  EXPECT_THAT(locks.url(), HasSubstr("sentinel_password=***"));
  EXPECT_THAT(locks.url(), Not(HasSubstr("apart")));
}

TEST(redis_sentinel_users, options_for_sentinels_are_refused_where_there_are_none) {
  for (const auto* url : {"redis://h?sentinel_user=x", "redis+cluster://h?sentinel_password=x"}) {
    const auto why = refusal_of(url);
    EXPECT_EQ(why.kind(), errc::invalid_argument) << why.message();
    EXPECT_THAT(why.message(), HasSubstr("redis+sentinel://"));
  }
}

}  // namespace
}  // namespace interlock

#endif
