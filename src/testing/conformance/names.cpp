// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <set>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(names);

namespace {
std::vector<std::string> hostile_names(std::size_t longest) {
  std::vector<std::string> all{"a",
                               "A",
                               "a ",
                               " a",
                               "  ",
                               "a/",
                               "/a",
                               "a//b",
                               "a/b",
                               "a%2fb",
                               "a%2Fb",
                               "a%",
                               "a%%",
                               "%",
                               "_",
                               "a_",
                               "ab",
                               "a.b",
                               "a..b",
                               ".a",
                               "a\\b",
                               "\\",
                               "'",
                               "''",
                               "\"",
                               "`",
                               "'; DROP TABLE book; --",
                               "a;b",
                               "a:b",
                               "a\xc2\xa0",
                               "*",
                               "?",
                               "a*",
                               "[a]",
                               "{a}",
                               "{",
                               "}",
                               "{}",
                               "$1",
                               "a$b",
                               "#a",
                               "~",
                               "-",
                               "--",
                               "-a",
                               "NULL",
                               "null",
                               "0",
                               "00",
                               "0x61",
                               "1e0",
                               "1",
                               "\xc3\xa4",
                               "a\xcc\x88",
                               "\xc3\x9f",
                               "SS",
                               "ss",
                               "\xf0\x9f\x94\x92",
                               "\xf0\x9f\x94\x93",
                               std::string("\xe2\x80\xae") + "abc",
                               std::string("\xef\xbb\xbf") + "a",
                               "book",
                               "sqlite_master",
                               "interlock",
                               "lock:a",
                               "a\xe2\x80\x8b"};
  // Two that differ in their last byte only, and one that is their common beginning.
  all.push_back(std::string(longest - 1, 'x'));
  all.push_back(std::string(longest - 1, 'x') + "1");
  all.push_back(std::string(longest - 1, 'x') + "2");
  return all;
}
}  // namespace

TEST_P(names, every_name_is_a_lock_of_its_own_whatever_its_bytes) {
  const auto locks = store->connect(), other = store->connect();
  const auto all = hostile_names(store->traits().name_max);
  std::vector<guard> held;
  for (const auto& name : all) {
    auto reply = locks.attempt(name, {.wait = 0ms});
    ASSERT_TRUE(reply) << name << ": " << reply.error().message();
    EXPECT_EQ(reply->name(), name);
    held.push_back(std::move(*reply));
  }
  for (const auto& name : all) EXPECT_FALSE(other.try_acquire(name)) << name;
  if (!store->traits().survey) return;
  std::set<std::string> seen;
  for (const auto& one : store->survey()) seen.insert(one.name);
  EXPECT_EQ(seen, std::set<std::string>(all.begin(), all.end()));
}

TEST_P(names, releasing_one_name_frees_that_one_and_no_other) {
  const auto locks = store->connect();
  auto a = locks.acquire("a"), b = locks.acquire("a/b"), c = locks.acquire("a_b"), d = locks.acquire("a%b");
  EXPECT_TRUE(c.release());
  EXPECT_TRUE(store->peek("a"));
  EXPECT_TRUE(store->peek("a/b"));
  EXPECT_FALSE(store->peek("a_b"));
  EXPECT_TRUE(store->peek("a%b"));
}

TEST_P(names, a_prefix_is_bytes_and_not_a_pattern) {
  INTERLOCK_NEEDS(survey);
  const auto locks = store->connect();
  std::vector<guard> held;
  for (const char* name : {"a%b", "axb", "a_b", "A_b", "a*b", "\xc3\xa4/1"}) held.push_back(locks.acquire(name));
  for (const char* prefix : {"a%", "a_", "A", "a*", "\xc3\xa4", "\xc3\xa4/"}) {
    const auto found = store->survey(prefix);
    ASSERT_EQ(found.size(), 1U) << prefix;
    EXPECT_TRUE(found[0].name.starts_with(prefix));
  }
}

TEST_P(names, what_is_not_a_name_is_refused_and_changes_nothing) {
  const auto locks = store->connect();
  const auto longest = store->traits().name_max;
  const std::vector<std::string> bad{"",
                                     std::string(longest + 1, 'x'),
                                     std::string(1 << 20, 'x'),
                                     std::string("a\0b", 3),
                                     std::string(1, '\0'),
                                     "a\nb",
                                     "a\tb",
                                     "\x1b[31m",
                                     "\x7f",
                                     "\xff",
                                     "a\xc3",
                                     "\xc0\xaf",
                                     "\xed\xa0\x80",
                                     "\xf4\x90\x80\x80",
                                     "..",
                                     "a/../b"};
  for (const auto& name : bad) {
    const auto reply = locks.attempt(name, {.wait = 0ms});
    ASSERT_FALSE(reply) << name.substr(0, 20);
    EXPECT_EQ(reply.error(), errc::invalid_argument) << reply.error().message();
    EXPECT_LT(reply.error().message().size(), 300U) << "an error is one line";
    EXPECT_EQ(reply.error().message().find('\n'), std::string::npos);
    EXPECT_THROW(static_cast<void>(locks.try_acquire(name)), lock_error);
  }
  EXPECT_TRUE(store->empty({}));
}

TEST_P(names, a_clients_prefix_keeps_its_names_apart) {
  const auto plain = store->connect(), mine = store->connect({.prefix = "mine/"});
  const auto held = mine.acquire("orders");
  EXPECT_TRUE(plain.try_acquire("orders"));
  EXPECT_FALSE(plain.try_acquire("mine/orders"));
  EXPECT_TRUE(store->peek("mine/orders"));
}

TEST_P(names, a_prefix_makes_no_wrong_name_right_and_counts_for_the_length) {
  const auto mine = store->connect({.prefix = "mine/"});
  const auto longest = store->traits().name_max - 5;
  for (const std::string& name : {std::string(), std::string(".."), std::string(longest + 1, 'x')})
    for (int twice = 0; twice < 2; ++twice) {  // asked for again, it is no better known
      const auto reply = mine.attempt(name, {.wait = 0ms}), later = mine.async_acquire(name).get_result();
      ASSERT_FALSE(reply || later) << name.substr(0, 20);
      EXPECT_EQ(reply.error(), errc::invalid_argument) << reply.error().message();
      EXPECT_EQ(later.error(), errc::invalid_argument) << later.error().message();
    }
  EXPECT_TRUE(store->empty({}));
  EXPECT_TRUE(mine.try_acquire(std::string(longest, 'x')));
}

TEST_P(names, a_name_is_copied_before_the_call_returns) {
  const auto first = store->connect(), second = store->connect();
  auto held = first.acquire("orders/42");
  auto name = std::make_unique<std::string>("orders/42");
  auto wait = second.async_acquire(*name);
  name->assign("scribbled");
  name.reset();
  EXPECT_TRUE(held.release());
  EXPECT_EQ(wait.get().name(), "orders/42");
}

}  // namespace interlock::inline v1::testing
