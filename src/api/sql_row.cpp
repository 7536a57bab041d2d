// SPDX-License-Identifier: MIT
#include <interlock/sql_row.hpp>

namespace interlock::inline v1 {
namespace {

constexpr sql_row_text postgres_row{
    .create = R"(CREATE TABLE IF NOT EXISTS interlock_row (name text COLLATE "C" PRIMARY KEY))",
    .add = "INSERT INTO interlock_row (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
    .lock = "SELECT name FROM interlock_row WHERE name = $1 FOR UPDATE",
    .no_wait = "SELECT name FROM interlock_row WHERE name = $1 FOR UPDATE NOWAIT",
    .skip = "SELECT name FROM interlock_row WHERE name = $1 FOR UPDATE SKIP LOCKED"};

// The primary key names one row that is there, so no gap is locked beside it. VARBINARY: no case folding, no trailing
// blanks dropped. SKIP LOCKED: MySQL 8.0, MariaDB 10.6.
constexpr sql_row_text mysql_row{
    .create = "CREATE TABLE IF NOT EXISTS interlock_row (name VARBINARY(1024) NOT NULL PRIMARY KEY) ENGINE = InnoDB",
    .add = "INSERT IGNORE INTO interlock_row (name) VALUES (?)",
    .lock = "SELECT name FROM interlock_row WHERE name = ? FOR UPDATE",
    .no_wait = "SELECT name FROM interlock_row WHERE name = ? FOR UPDATE NOWAIT",
    .skip = "SELECT name FROM interlock_row WHERE name = ? FOR UPDATE SKIP LOCKED"};

}  // namespace

sql_row_text sql_row(sql_dialect dialect) noexcept {
  switch (dialect) {
    case sql_dialect::postgres: return postgres_row;
    case sql_dialect::mysql: return mysql_row;
    case sql_dialect::sqlite: break;
  }
  return {};
}

}  // namespace interlock::inline v1
