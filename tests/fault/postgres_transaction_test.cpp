// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/postgres_server.hpp"

#include <interlock/client.hpp>
#include <interlock/fence.hpp>
#include <interlock/sql_row.hpp>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// Locks inside the caller's own transaction: the texts of sql_fence and sql_row on PostgreSQL, and the example that
/// uses them.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::postgres_server;

/// An application's own connection.
class application {
 public:
  explicit application(const postgres_server& server) : with_(PQconnectdb(server.conninfo().c_str()), PQfinish) {}
  /// Rows returned; -1: refused, see state().
  int rows(std::string_view text, const std::vector<std::string>& values = {}) {
    std::vector<const char*> all;
    for (const auto& one : values) all.push_back(one.c_str());
    const std::unique_ptr<PGresult, void (*)(PGresult*)> got(
        PQexecParams(with_.get(), std::string(text).c_str(), static_cast<int>(all.size()), nullptr, all.data(), nullptr,
                     nullptr, 0),
        PQclear);
    const char* const wrong = PQresultErrorField(got.get(), PG_DIAG_SQLSTATE);
    state_ = wrong == nullptr ? "" : wrong;
    const auto status = PQresultStatus(got.get());
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? PQntuples(got.get()) : -1;
  }
  [[nodiscard]] const std::string& state() const { return state_; }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> with_;
  std::string state_;
};

struct postgres_transaction : ::testing::Test {
  static postgres_server& server() {
    static postgres_server one;
    return one;
  }
  application one{server()}, two{server()};
};

TEST_F(postgres_transaction, of_a_stale_holder_is_rolled_back) {
  const auto fence = sql_fence(sql_dialect::postgres);
  ASSERT_EQ(one.rows(fence.create), 0);
  ASSERT_EQ(one.rows(fence.create), 0) << "harmless if run again";
  one.rows("create table account (balance integer)");
  one.rows("insert into account values (100)");
  const client locks(server().url());
  const auto stale = locks.acquire("account");
  ASSERT_TRUE(locks.evict_by_force("account", stale.id()));
  const auto next = locks.acquire("account");
  const auto admitted = [&](application& by, const guard& held) {
    return by.rows(fence.admit, {held.name(), to_string(held.token())}) == 1;
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
  EXPECT_EQ(server().value("select balance from account"), "89");
  two.rows("begin");
  EXPECT_TRUE(admitted(two, next)) << "the rightful one writes again";
  two.rows("rollback");
  for (const auto* bad : {"0", "-1", "9223372036854775808"}) EXPECT_EQ(one.rows(fence.admit, {"account", bad}), -1);
}

TEST_F(postgres_transaction, locks_a_named_row_until_it_ends) {
  const auto row = sql_row(sql_dialect::postgres);
  ASSERT_EQ(one.rows(row.create), 0);
  for (const auto* name : {"a", "A", "a "}) ASSERT_EQ(one.rows(row.add, {name}), 0);
  EXPECT_EQ(one.rows(row.add, {"a"}), 0) << "it is there already";
  EXPECT_EQ(one.rows(row.lock, {"b"}), 0) << "nobody has added it";
  one.rows("begin");
  EXPECT_EQ(one.rows(row.lock, {"a"}), 1);
  two.rows("begin");
  EXPECT_EQ(two.rows(row.skip, {"a"}), 0);
  EXPECT_EQ(two.rows(row.skip, {"A"}), 1) << "another name";
  EXPECT_EQ(two.rows(row.no_wait, {"a "}), 1);
  EXPECT_EQ(two.rows(row.no_wait, {"a"}), -1);
  EXPECT_EQ(two.state(), "55P03");
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

TEST_F(postgres_transaction, in_sqlite_has_no_rows_to_lock) { EXPECT_TRUE(sql_row(sql_dialect::sqlite).lock.empty()); }

// Whatever step a worker dies at, the order is paid once, by one channel.
TEST_F(postgres_transaction, of_the_example_pays_exactly_once_though_workers_die_at_every_step) {
  const auto example = std::filesystem::path(INTERLOCK_COMMAND).parent_path() / "examples/order_payment";
  ASSERT_TRUE(std::filesystem::exists(example)) << example;
  one.rows(sql_fence(sql_dialect::postgres).create);
  one.rows("create table payment (order_id text, channel text)");
  const auto pay = [&](const std::string& order, const std::string& channel, int die_after) {
    const auto line = "'" + example.string() + "' '" + server().url() + "' " + order + " " + channel + " " +
                      std::to_string(die_after) + " >/dev/null";
    return WEXITSTATUS(std::system(line.c_str()));
  };
  const auto channels = [&](int order) {
    return server().value("select string_agg(channel, ' ') from payment where order_id = '" + std::to_string(order) +
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

}  // namespace
}  // namespace interlock

#endif
