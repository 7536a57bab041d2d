// SPDX-License-Identifier: MIT
#if INTERLOCK_WITH_SQLITE
#include "store_statements.hpp"

#include <interlock/client.hpp>

#include <stdexcept>

namespace bench {

// The store itself lays out the file: page size, tables and journal are then its own.
store_statements::store_statements(const std::string& file) {
  interlock::client("sqlite:" + file).close();
  db_ = std::move(interlock::sqlite_store::connection::open(file).value());
  if (db_->run("pragma synchronous = normal") != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_->raw()));
}

interlock::sqlite_store::statement& store_statements::made(statement& one) {
  if (one.ready(db_->raw()) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_->raw()));
  return one;
}

void store_statements::run(statement& one) {
  if (made(one).run() != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_->raw()));
}

void store_statements::read(std::string_view name) {
  auto& rows = made(sql_.book);
  rows.blob(1, name);
  int code = rows.step();
  while (code == SQLITE_ROW) code = rows.step();
  rows.reset();
  if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_->raw()));
}

void store_statements::enter(std::string_view name) {
  auto& header = made(sql_.put_header);
  header.blob(1, name);
  header.integer(2, turn_);
  header.integer(3, turn_);
  header.integer(4, 1);
  header.integer(5, turn_);
  run(header);
  auto& claim = made(sql_.add_claim);
  claim.blob(1, name);
  for (int column = 2; column <= 15; ++column) claim.integer(column, turn_);
  claim.blob(5, "sixteen bytes of");
  for (int column = 16; column <= 18; ++column) claim.text(column, "some words");
  run(claim);
}

void store_statements::leave(std::string_view name) {
  auto& gone = made(sql_.remove_claim);
  gone.blob(1, name);
  gone.integer(2, turn_);
  run(gone);
}

void store_statements::pair(std::string_view name) {
  ++turn_;
  run(sql_.begin);
  read(name);
  enter(name);
  run(sql_.commit);
  run(sql_.begin);
  read(name);
  leave(name);
  run(sql_.commit);
}

}  // namespace bench
#endif
