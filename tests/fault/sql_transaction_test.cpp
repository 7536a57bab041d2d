// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_POSTGRES) || defined(INTERLOCK_WITH_MYSQL)

#include "support/sql_application.hpp"

#include <interlock/client.hpp>
#include <interlock/fence.hpp>
#include <interlock/sql_row.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

/// Locks inside the caller's own transaction: the texts of sql_fence and sql_row on the databases themselves, and the
/// example that uses them.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

template <class Application>
struct sql_transaction : ::testing::Test {
  Application first{}, second{};
};

using databases = ::testing::Types<
#ifdef INTERLOCK_WITH_POSTGRES
    postgres_application
#endif
#if defined(INTERLOCK_WITH_POSTGRES) && defined(INTERLOCK_WITH_MYSQL)
    ,
#endif
#ifdef INTERLOCK_WITH_MYSQL
    mariadb_application
#endif
    >;
struct named {
  template <class Application>
  static std::string GetName(int) {
    return Application::dialect == sql_dialect::postgres ? "postgres" : "mariadb";
  }
};
TYPED_TEST_SUITE(sql_transaction, databases, named);

TYPED_TEST(sql_transaction, of_a_stale_holder_is_rolled_back) {
  auto &one = this->first, &two = this->second;
  const auto fence = sql_fence(TypeParam::dialect);
  ASSERT_EQ(one.rows(fence.create), 0);
  ASSERT_EQ(one.rows(fence.create), 0) << "harmless if run again";
  one.rows("create table account (balance integer)");
  one.rows("insert into account values (100)");
  const client locks(TypeParam::server().url());
  const auto stale = locks.acquire("account");
  ASSERT_TRUE(locks.evict_by_force("account", stale.id()));
  const auto next = locks.acquire("account");
  const auto admitted = [&](TypeParam& by, const guard& held) {
    return TypeParam::is_admitted(by.rows(fence.admit, {held.name(), to_string(held.token())}));
  };
  one.rows("begin");
  ASSERT_TRUE(admitted(one, stale)) << "nobody later was here yet";
  one.rows("update account set balance = balance - 1");
  one.rows("commit");
  two.rows("begin");
  ASSERT_TRUE(admitted(two, next));
  two.rows("update account set balance = balance - 10");
  // The stale one comes while the other's transaction is open: it waits for it, and is refused.
  std::jthread late([&] {
    one.rows("begin");
    EXPECT_FALSE(admitted(one, stale));
    one.rows("rollback");
  });
  std::this_thread::sleep_for(50ms);
  two.rows("commit");
  late.join();
  EXPECT_EQ(one.value("select balance from account"), "89");
  two.rows("begin");
  EXPECT_TRUE(admitted(two, next)) << "the rightful one writes again";
  EXPECT_TRUE(admitted(two, next)) << "and once more";
  two.rows("rollback");
  for (const auto* bad : {"0", "-1", "9223372036854775808"}) EXPECT_EQ(one.rows(fence.admit, {"account", bad}), -1);
}

TYPED_TEST(sql_transaction, locks_a_named_row_until_it_ends) {
  auto &one = this->first, &two = this->second;
  const auto row = sql_row(TypeParam::dialect);
  ASSERT_EQ(one.rows(row.create), 0);
  ASSERT_EQ(one.rows(row.create), 0) << "harmless if run again";
  for (const auto* name : {"a", "A", "a "}) ASSERT_GE(one.rows(row.add, {name}), 0);
  EXPECT_EQ(one.rows(row.add, {"a"}), 0) << "it is there already";
  EXPECT_EQ(one.rows(row.lock, {"b"}), 0) << "nobody has added it";
  one.rows("begin");
  EXPECT_EQ(one.rows(row.lock, {"a"}), 1);
  two.rows("begin");
  EXPECT_EQ(two.rows(row.skip, {"a"}), 0);
  EXPECT_EQ(two.rows(row.skip, {"A"}), 1) << "another name";
  EXPECT_EQ(two.rows(row.no_wait, {"a "}), 1);
  EXPECT_EQ(two.rows(row.no_wait, {"a"}), -1);
  EXPECT_EQ(two.state(), TypeParam::busy_row);
  two.rows("rollback");
  two.rows("begin");
  std::jthread ends([&] {
    std::this_thread::sleep_for(100ms);
    one.rows("commit");
  });
  EXPECT_EQ(two.rows(row.lock, {"a"}), 1) << "after the other's end";
  ends.join();
  EXPECT_EQ(one.rows(row.skip, {"a"}), 0);
  two.rows("commit");
}

TEST(sql_row_text, has_nothing_for_sqlite) { EXPECT_TRUE(sql_row(sql_dialect::sqlite).lock.empty()); }

#ifdef INTERLOCK_WITH_POSTGRES
// Whatever step a worker dies at, the order is paid once, by one channel.
TEST(postgres_transaction, of_the_example_pays_exactly_once_though_workers_die_at_every_step) {
  postgres_application one;
  auto& server = postgres_application::server();
  const auto example = std::filesystem::path(INTERLOCK_COMMAND).parent_path() / "examples/order_payment";
  ASSERT_TRUE(std::filesystem::exists(example)) << example;
  one.rows(sql_fence(sql_dialect::postgres).create);
  one.rows("create table payment (order_id text, channel text)");
  const auto pay = [&](const std::string& order, const std::string& channel, int die_after) {
    const auto line = "'" + example.string() + "' '" + server.url() + "' " + order + " " + channel + " " +
                      std::to_string(die_after) + " >/dev/null";
    return WEXITSTATUS(std::system(line.c_str()));
  };
  const auto channels = [&](int order) {
    return server.value("select string_agg(channel, ' ') from payment where order_id = '" + std::to_string(order) +
                        "'");
  };
  for (int step = 1; step <= 7; ++step) {
    EXPECT_EQ(pay(std::to_string(step), "card", step), 9) << "it was to die after step " << step;
    EXPECT_EQ(channels(step), step < 6 ? "" : "card");
  }
  for (int order = 1; order <= 7; ++order) {
    EXPECT_EQ(pay(std::to_string(order), "invoice", 0), 0);
    EXPECT_EQ(pay(std::to_string(order), "transfer", 0), 0);
    EXPECT_EQ(channels(order), order < 6 ? "invoice" : "card");
  }
}

#endif

}  // namespace
}  // namespace interlock

#endif
