// SPDX-License-Identifier: MIT
#pragma once

#if INTERLOCK_WITH_SQLITE

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// A lock as one would write it with nothing but SQLite: a row per holder in WAL mode with synchronous = normal, all
/// other settings SQLite's own.
class raw_locks {
 public:
  enum class rows {
    one_per_name,  ///< whoever inserts it has the lock
    one_per_owner  ///< holder and waiters have one each
  };
  raw_locks(const std::string& file, rows keep);
  raw_locks(const raw_locks&) = delete;
  raw_locks& operator=(const raw_locks&) = delete;
  ~raw_locks();

  /// Each is one statement, prepared before and committed by itself. Throws if it changed nothing.
  void insert(std::string_view name, std::uint64_t owner, std::int64_t token);
  void remove(std::string_view name, std::uint64_t owner);

 private:
  void run(sqlite3_stmt* one);
  void check(int code) const;

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
};

/// Every write transaction ever committed to the file in WAL mode, from the head of its -shm file. Not from a process
/// that has the database open: closing the -shm file would end that process's locks on it.
std::uint32_t commits_of(const std::string& file);

}  // namespace bench

#endif
