// SPDX-License-Identifier: MIT
//
// One payment channel per order, exactly once, in PostgreSQL, whatever happens to the workers.
//
//   ./order_payment postgres://app@db/shop 4711 card          pays order 4711 by card, unless it is paid
//   ./order_payment postgres://app@db/shop 4711 card 5        the same, and dies after step 5
//
// The lock keeps two workers from calling a payment service for one order at the same time. The fence keeps out one
// that lost its lock without having noticed; because it is checked in the transaction that writes, a stale worker's
// transaction is rolled back. A worker may die after any step: the next one finds the order paid, or pays it.

#include <interlock/interlock.hpp>

#include <libpq-fe.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

class database {
 public:
  explicit database(const std::string& url) : with_(PQconnectdb(url.c_str()), PQfinish) {}
  /// How many rows it returns.
  int rows(std::string_view text, std::initializer_list<std::string> values = {}) {
    std::vector<const char*> all;
    for (const auto& one : values) all.push_back(one.c_str());
    const std::unique_ptr<PGresult, void (*)(PGresult*)> got(
        PQexecParams(with_.get(), std::string(text).c_str(), static_cast<int>(all.size()), nullptr, all.data(), nullptr,
                     nullptr, 0),
        PQclear);
    const auto status = PQresultStatus(got.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
    return PQntuples(got.get());
  }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> with_;
};

int main(int argc, char** argv) try {
  if (argc < 4) return std::fprintf(stderr, "usage: %s URL ORDER CHANNEL [DIE_AFTER_STEP]\n", argv[0]), 64;
  const std::string order = argv[2], channel = argv[3];
  const auto step = [&, last = argc > 4 ? std::atoi(argv[4]) : 0](int number) {
    if (number == last) ::_exit(9);  // as a power cut would have it: nothing is released, rolled back or said
  };
  const interlock::client locks{argv[1]};
  const auto fence = interlock::sql_fence(interlock::sql_dialect::postgres);
  database shop{argv[1]};

  auto held = locks.acquire("orders/" + order, {.lease = 1s});
  step(1);
  shop.rows("BEGIN");
  step(2);
  const bool admitted = shop.rows(fence.admit, {held.name(), to_string(held.token())}) == 1;
  step(3);
  const bool due = admitted && shop.rows("SELECT 1 FROM payment WHERE order_id = $1", {order}) == 0;
  step(4);
  if (due) shop.rows("INSERT INTO payment (order_id, channel) VALUES ($1, $2)", {order, channel});
  step(5);
  shop.rows(due ? "COMMIT" : "ROLLBACK");
  step(6);
  held.release().value();
  step(7);
  std::printf("%s\n", due ? "paid" : admitted ? "was paid already" : "refused: a later worker was here");
  return 0;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
