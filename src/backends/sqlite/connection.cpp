// SPDX-License-Identifier: MIT
#include "backends/sqlite/connection.hpp"

#include <utility>

namespace interlock::inline v1::sqlite_store {

int statement::ready(sqlite3* in) noexcept {
  if (made_ != nullptr) return SQLITE_OK;
  return sqlite3_prepare_v3(in, text_, -1, SQLITE_PREPARE_PERSISTENT, &made_, nullptr);
}

int statement::run() noexcept {
  const int code = sqlite3_step(made_);
  sqlite3_reset(made_);
  return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

result<std::unique_ptr<connection>> connection::open(const std::string& path) {
  auto made = std::make_unique<connection>(path);
  // The caller locks, so SQLite need not. A symbolic link could lead to a file we did not check.
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW;
  if (const int code = sqlite3_open_v2(path.c_str(), &made->db_, flags, nullptr); code != SQLITE_OK)
    return made->explain(code, "open");
  sqlite3_extended_result_codes(made->db_, 1);
  // Nobody waits for the disk when a program ends: what is in the log is safe from everything but a power cut, and
  // that is what generations are for.
  sqlite3_db_config(made->db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(made->db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return made;
}

connection::~connection() { sqlite3_close_v2(db_); }

namespace {
struct meaning {
  errc code;
  std::string_view advice;
};
meaning meaning_of(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {errc::unavailable, "another process is in the middle of writing it; is that process stopped?"};
    case SQLITE_FULL: return {errc::unavailable, "nothing was changed; free some space"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {errc::denied, "locking writes to the file, to <file>-wal and to <file>-shm: give this user write access"};
    case SQLITE_CANTOPEN: return {errc::denied, "the file and its folder must be readable and writable by this user"};
    case SQLITE_NOTADB: return {errc::unsupported, "name another file, or move this one away"};
    case SQLITE_CORRUPT:
      return {errc::unavailable, "stop all programs that use it and move it away; tokens start over in a new file"};
    case SQLITE_PROTOCOL:
    case SQLITE_IOERR: return {errc::unavailable, "see the kernel's log for the disk's condition"};
    case SQLITE_NOMEM: return {errc::unavailable, "out of memory"};
    default: return {errc::internal, "please report this"};
  }
}
}  // namespace

failure connection::explain(int code, std::string_view doing) const {
  const auto [kind, advice] = meaning_of(code);
  std::string text = "sqlite store " + path_ + ": could not ";
  text += doing;
  text += ": ";
  // sqlite3_errmsg speaks of the latest call; a code that was kept over a rollback has only its general name.
  const bool latest = db_ != nullptr && (sqlite3_errcode(db_) & 0xff) == (code & 0xff);
  text += latest ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  text += " (";
  text += advice;
  text += ')';
  return failure(kind, text);
}

}  // namespace interlock::inline v1::sqlite_store
