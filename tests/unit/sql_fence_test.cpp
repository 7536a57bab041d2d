// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

#include <gtest/gtest.h>

#include <string>

#ifdef INTERLOCK_WITH_SQLITE
#include <sqlite3.h>

namespace {

using interlock::sql_dialect;

/// One connection to one database, and a count of the rows a statement gave back; -1 if it failed.
class database {
 public:
  explicit database(const char* file) {
    EXPECT_EQ(sqlite3_open_v2(file, &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, nullptr),
              SQLITE_OK);
  }
  database(const database&) = delete;
  database& operator=(const database&) = delete;
  ~database() { sqlite3_close(handle_); }

  bool run(const std::string& text) {
    return sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  int admit(const char* name, long long token) {
    return rows([&](sqlite3_stmt* statement) {
      sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
      sqlite3_bind_int64(statement, 2, token);
    });
  }
  int admit_text(const char* name, const char* token) {
    return rows([&](sqlite3_stmt* statement) {
      sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
      sqlite3_bind_text(statement, 2, token, -1, SQLITE_STATIC);
    });
  }

 private:
  template <class Bind>
  int rows(Bind bind) {
    const auto text = interlock::sql_fence(sql_dialect::sqlite).admit;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, text.data(), static_cast<int>(text.size()), &statement, nullptr) != SQLITE_OK)
      return -1;
    bind(statement);
    int count = 0, step = SQLITE_ROW;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) ++count;
    sqlite3_finalize(statement);
    return step == SQLITE_DONE ? count : -1;
  }
  sqlite3* handle_ = nullptr;
};

class sqlite_fence_test : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(orders.run(std::string{interlock::sql_fence(sql_dialect::sqlite).create})); }
  database orders{":memory:"};
};

TEST_F(sqlite_fence_test, gives_one_row_for_first_equal_and_higher_tokens_and_none_for_stale_ones) {
  EXPECT_EQ(orders.admit("order/1", 5), 1);
  EXPECT_EQ(orders.admit("order/1", 5), 1);
  EXPECT_EQ(orders.admit("order/1", 6), 1);
  EXPECT_EQ(orders.admit("order/1", 5), 0);
  EXPECT_EQ(orders.admit("order/1", 6), 1) << "a refusal moved the fence";
  EXPECT_EQ(orders.admit("order/1", 9223372036854775807), 1);
}

TEST_F(sqlite_fence_test, keeps_names_apart) {
  EXPECT_EQ(orders.admit("order/1", 50), 1);
  EXPECT_EQ(orders.admit("order/2", 5), 1);
  EXPECT_EQ(orders.admit("ORDER/1", 5), 1);
  EXPECT_EQ(orders.admit("order/1 ", 5), 1);
}

TEST_F(sqlite_fence_test, takes_tokens_as_text_but_nothing_that_is_no_token) {
  EXPECT_EQ(orders.admit_text("order/1", "33"), 1);
  EXPECT_EQ(orders.admit_text("order/1", "32"), 0);
  for (const auto* text : {"x", "", "0", "-1", "9223372036854775808"})
    EXPECT_EQ(orders.admit_text("order/1", text), -1) << text;
  EXPECT_EQ(orders.admit("order/1", 33), 1) << "something that is no token shut the fence";
}

TEST_F(sqlite_fence_test, forgets_an_admission_that_was_rolled_back) {
  ASSERT_TRUE(orders.run("BEGIN"));
  EXPECT_EQ(orders.admit("order/1", 9), 1);
  ASSERT_TRUE(orders.run("ROLLBACK"));
  EXPECT_EQ(orders.admit("order/1", 8), 1);
}

TEST_F(sqlite_fence_test, create_may_run_again) {
  EXPECT_EQ(orders.admit("order/1", 9), 1);
  EXPECT_TRUE(orders.run(std::string{interlock::sql_fence(sql_dialect::sqlite).create}));
  EXPECT_EQ(orders.admit("order/1", 8), 0);
}

TEST(sqlite_fence, nobody_gets_between_the_check_and_the_write) {
  database first{"file:between?mode=memory&cache=shared"}, second{"file:between?mode=memory&cache=shared"};
  ASSERT_TRUE(first.run(std::string{interlock::sql_fence(sql_dialect::sqlite).create}));
  ASSERT_TRUE(first.run("BEGIN"));
  EXPECT_EQ(first.admit("order/1", 8), 1);
  EXPECT_EQ(second.admit("order/1", 9), -1) << "admitted while an earlier holder's transaction was open";
  ASSERT_TRUE(first.run("COMMIT"));
  EXPECT_EQ(second.admit("order/1", 9), 1);
}

}  // namespace
#endif
