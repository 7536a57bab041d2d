// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

namespace interlock::inline v1 {
namespace {

// Exactly one row comes back if the token is at least as high as the stored one, none if it is stale. The row stays
// locked until the transaction ends, so a later holder cannot slip in between this check and the writes it protects.
//
// The check on the type matters: SQLite would store 'x' in an INTEGER column, and text is greater than every number.
constexpr sql_fence_text sqlite_fence{.create = R"(
CREATE TABLE IF NOT EXISTS interlock_fence (
  name TEXT NOT NULL PRIMARY KEY,
  token INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token > 0)
) WITHOUT ROWID)",
                                      .admit = R"(
INSERT INTO interlock_fence (name, token) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE excluded.token >= interlock_fence.token
RETURNING token)"};

constexpr sql_fence_text postgres_fence{.create = R"(
CREATE TABLE IF NOT EXISTS interlock_fence (
  name text COLLATE "C" PRIMARY KEY,
  token bigint NOT NULL CHECK (token > 0)
))",
                                        .admit = R"(
INSERT INTO interlock_fence (name, token) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE excluded.token >= interlock_fence.token
RETURNING token)"};

// MySQL returns no rows from an INSERT, and counts 1 for an inserted row, 2 for a changed one, and for one left as it
// was 0, or, if the connection was opened with CLIENT_FOUND_ROWS (many drivers do), 1. With one row, "first token",
// "stale token" and "same token again" could not be told apart. So the same row goes in twice, and every admission
// changes a counter:
//
//                         first row   second row   affected
//   first token of a name     1           2            3
//   admitted again            2           2            4
//   stale                   0 or 1      0 or 1       0 or 2
//
// Three or more: admitted, whatever the flag. The assignments run from left to right, so `admitted` still sees the old
// token. WHERE keeps the parser from taking ON for the join's. VALUES() is the spelling that both MySQL and MariaDB
// have. VARBINARY: no case folding, no trailing blanks dropped.
constexpr sql_fence_text mysql_fence{.create = R"(
CREATE TABLE IF NOT EXISTS interlock_fence (
  name VARBINARY(1024) NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL CHECK (token > 0),
  admitted BIGINT NOT NULL
) ENGINE = InnoDB)",
                                     .admit = R"(
INSERT INTO interlock_fence (name, token, admitted)
SELECT asked.name, asked.token, 1
FROM (SELECT ? AS name, ? AS token) AS asked CROSS JOIN (SELECT 1 AS copy UNION ALL SELECT 2) AS twice
WHERE 1 = 1
ON DUPLICATE KEY UPDATE
  admitted = interlock_fence.admitted + (VALUES(token) >= interlock_fence.token),
  token = GREATEST(interlock_fence.token, VALUES(token)))"};

}  // namespace

sql_fence_text sql_fence(sql_dialect dialect) noexcept {
  switch (dialect) {
    case sql_dialect::sqlite: return sqlite_fence;
    case sql_dialect::mysql: return mysql_fence;
    case sql_dialect::postgres: break;
  }
  return postgres_fence;
}

}  // namespace interlock::inline v1
