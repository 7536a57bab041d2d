// SPDX-License-Identifier: MIT
#if INTERLOCK_WITH_SQLITE
#include "raw_sqlite.hpp"

#include <sched.h>

#include <fstream>
#include <stdexcept>

namespace bench {

raw_locks::raw_locks(const std::string& file, rows keep) {
  check(sqlite3_open_v2(file.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
  // SQLite's own handler sleeps for a millisecond at least; the writer in our way needs some microseconds.
  check(sqlite3_busy_handler(
      db_, [](void*, int) { return sched_yield() + 1; }, nullptr));
  const std::string key = keep == rows::one_per_name ? "name" : "name, owner";
  const auto setup = "pragma journal_mode = wal; pragma synchronous = normal;"
                     "create table if not exists locks(name blob not null, owner blob not null, token integer not null,"
                     " primary key(" +
                     key + ")) without rowid";
  check(sqlite3_exec(db_, setup.c_str(), nullptr, nullptr, nullptr));
  const auto prepare = [&](const char* text, sqlite3_stmt** out) {
    check(sqlite3_prepare_v3(db_, text, -1, SQLITE_PREPARE_PERSISTENT, out, nullptr));
  };
  prepare("insert into locks(name, owner, token) values(?1, ?2, ?3) on conflict do nothing", &insert_);
  prepare("delete from locks where name = ?1 and owner = ?2", &remove_);
}

raw_locks::~raw_locks() {
  sqlite3_finalize(insert_);
  sqlite3_finalize(remove_);
  sqlite3_close_v2(db_);
}

void raw_locks::check(int code) const {
  if (code != SQLITE_OK) throw std::runtime_error(std::string("raw statements: ") + sqlite3_errmsg(db_));
}

void raw_locks::run(sqlite3_stmt* one) {
  const int code = sqlite3_step(one);
  sqlite3_reset(one);
  check(code == SQLITE_DONE ? SQLITE_OK : code);
  if (sqlite3_changes(db_) != 1) throw std::runtime_error("raw statements: a row was not where it should be");
}

void raw_locks::insert(std::string_view name, std::uint64_t owner, std::int64_t token) {
  sqlite3_bind_blob(insert_, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
  sqlite3_bind_blob(insert_, 2, &owner, sizeof owner, SQLITE_STATIC);
  sqlite3_bind_int64(insert_, 3, token);
  run(insert_);
}

void raw_locks::remove(std::string_view name, std::uint64_t owner) {
  sqlite3_bind_blob(remove_, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
  sqlite3_bind_blob(remove_, 2, &owner, sizeof owner, SQLITE_STATIC);
  run(remove_);
}

// https://www.sqlite.org/walformat.html section 2.1: a version, four unused bytes, a counter of transactions.
std::uint32_t commits_of(const std::string& file) {
  std::ifstream in(file + "-shm", std::ios::binary);
  std::uint32_t head[3]{};
  in.read(reinterpret_cast<char*>(head), sizeof head);
  if (!in || head[0] != 3007000) throw std::runtime_error("cannot read the transaction counter of " + file);
  return head[2];
}

}  // namespace bench
#endif
