// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_POSTGRES) || defined(INTERLOCK_WITH_MYSQL)

#include "support/agent.hpp"
#include "support/database_under_test.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

/// Databases, with other processes beside us: holders that are killed, and the programs of the databases' own.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

template <class Database>
struct database_process : ::testing::Test {
  typename Database::server server{};
};
TYPED_TEST_SUITE(database_process, databases_under_test, named_after_database);

TYPED_TEST(database_process, that_is_killed_while_it_holds_makes_others_wait_for_its_lease_and_no_longer) {
  const client locks(this->server.url());
  agent holder({"hold", this->server.url(), "a", "1000"});
  const auto token = holder.after("held ");
  ASSERT_TRUE(token);
  holder.kill();
  EXPECT_FALSE(locks.try_acquire("a")) << "nobody knows yet";
  const auto next = locks.attempt("a", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_GT(next->token().value(), std::stoull(*token));
}

TYPED_TEST(database_process, that_is_killed_takes_the_locks_of_its_session_along) {
  const client locks(this->server.url("mode=session"));
  agent holder({"hold", this->server.url("mode=session"), "a", "600000"});
  ASSERT_TRUE(holder.after("held "));
  EXPECT_FALSE(locks.try_acquire("a"));
  holder.kill();
  const auto next = locks.attempt("a", {.wait = 20s});
  EXPECT_TRUE(next) << next.error().message();
}

TYPED_TEST(database_process, of_an_administrator_makes_the_tables_that_the_command_prints) {
  const auto url = this->server.url("create=no");
  ASSERT_FALSE(client::connect(url));
  const auto make = "'" INTERLOCK_COMMAND "' schema '" + url + "' | " + TypeParam::client_program +
                    std::to_string(this->server.port());
  for (int i = 0; i < 2; ++i) ASSERT_EQ(std::system(make.c_str()), 0) << make;  // harmless if run again
  EXPECT_TRUE(client(url).acquire("a").valid());
}

}  // namespace
}  // namespace interlock

#endif
