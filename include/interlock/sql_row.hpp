// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/fence.hpp>

#include <string_view>

namespace interlock::inline v1 {

/// Text for any SQL driver: a named row that your own transaction keeps locked until it ends. No lease, no token, no
/// interlock client: the lock lasts exactly as long as the transaction, and goes with its connection. Right for work
/// that is one short transaction in one database; for anything longer, take a lock, and let `sql_fence` check its
/// token.
///
/// Run `create` once, and `add` (name) before a name is first locked, *outside* the transaction that locks it: a row
/// that is not committed yet makes everybody wait who adds it too. Then, inside, one of the others (name):
///
/// | text      | somebody else has it                                                                 |
/// |-----------|--------------------------------------------------------------------------------------|
/// | `lock`    | waits; one row                                                                       |
/// | `no_wait` | an error at once: SQLSTATE 55P03 (PostgreSQL), 1205 or 3572 (MariaDB, MySQL)         |
/// | `skip`    | no row; the transaction goes on                                                      |
///
/// No row from `lock` or `no_wait`: nobody has added the name. SQLite has no locks of rows (BEGIN IMMEDIATE locks the
/// database): its texts are empty.
struct sql_row_text {
  std::string_view create, add, lock, no_wait, skip;
};
sql_row_text sql_row(sql_dialect dialect) noexcept;

}  // namespace interlock::inline v1
