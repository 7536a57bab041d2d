// SPDX-License-Identifier: MIT
//
// One payment per order, also when the worker that began it stalls and a second one takes over.
//
//   ./payment_channel                          an order book in memory, locks in memory
//   ./payment_channel sqlite:/tmp/locks.db     locks in a file
//
// The lock keeps two workers from paying the same order at once. The fencing token, checked inside the database's own
// transaction, keeps out a worker that lost its lock without having noticed yet.

#include <interlock/interlock.hpp>

#include <sqlite3.h>

#include <cstdio>
#include <stdexcept>
#include <string>

using interlock::sql_dialect, interlock::sql_fence;

class order_book {
 public:
  order_book() {
    sqlite3_open(":memory:", &db_);
    rows(sql_fence(sql_dialect::sqlite).create);
    rows("CREATE TABLE payment (order_id TEXT, worker TEXT)");
  }
  ~order_book() { sqlite3_close(db_); }

  /// false: a later holder of the order's lock was here, or the order is paid.
  bool pay(const interlock::guard& held, const std::string& order, const std::string& worker) {
    rows("BEGIN IMMEDIATE");
    const bool paid = rows(sql_fence(sql_dialect::sqlite).admit, {held.name(), to_string(held.token())}) == 1 &&
                      rows("SELECT 1 FROM payment WHERE order_id = ?1", {order}) == 0;
    if (paid) rows("INSERT INTO payment VALUES (?1, ?2)", {order, worker});
    rows(paid ? "COMMIT" : "ROLLBACK");
    std::printf("%s: %s\n", worker.c_str(), paid ? "paid" : "refused");
    return paid;
  }
  int payments() { return rows("SELECT 1 FROM payment"); }

 private:
  int rows(std::string_view text, std::initializer_list<std::string> values = {}) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db_, text.data(), static_cast<int>(text.size()), &statement, nullptr);
    for (int i = 1; const auto& value : values) sqlite3_bind_text(statement, i++, value.c_str(), -1, SQLITE_TRANSIENT);
    int count = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) ++count;
    if (sqlite3_finalize(statement) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
    return count;
  }
  sqlite3* db_ = nullptr;
};

int main(int argc, char** argv) try {
  const interlock::client locks{argc > 1 ? argv[1] : "memory:"};
  order_book orders;
  const auto stalled = locks.acquire("orders/42");       // the first worker: about to pay, then stands still;
  locks.evict_by_force("orders/42", stalled.id());       // its lock comes free, here by an administrator's hand
  const auto second = locks.acquire("orders/42");        // the second worker gets it, with a higher token
  const bool paid = orders.pay(second, "42", "second");  // and pays
  const bool late = orders.pay(stalled, "42", "first");  // the first one wakes up: its token is stale
  const bool again = orders.pay(second, "42", "retry");  // a retry by the rightful holder finds the order paid
  return paid && !late && !again && orders.payments() == 1 ? 0 : 1;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
