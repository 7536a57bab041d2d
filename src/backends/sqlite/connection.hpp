// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace interlock::inline v1::sqlite_store {

/// One SQL text, compiled when first used and kept: most clients need few of them, and a short-lived command should
/// not pay for the rest. Bound bytes are not copied; they must live until reset().
class statement {
 public:
  explicit constexpr statement(const char* text) noexcept : text_(text) {}
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;
  ~statement() { sqlite3_finalize(made_); }

  /// SQLITE_OK, or why it cannot be compiled.
  int ready(sqlite3* in) noexcept;
  void integer(int at, std::int64_t value) noexcept { sqlite3_bind_int64(made_, at, value); }
  void blob(int at, std::span<const std::byte> value) noexcept {
    sqlite3_bind_blob64(made_, at, value.empty() ? "" : static_cast<const void*>(value.data()), value.size(),
                        SQLITE_STATIC);
  }
  void blob(int at, std::string_view value) noexcept { blob(at, std::as_bytes(std::span(value))); }
  void text(int at, std::string_view value) noexcept {
    sqlite3_bind_text64(made_, at, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void null(int at) noexcept { sqlite3_bind_null(made_, at); }

  int step() noexcept { return sqlite3_step(made_); }
  [[nodiscard]] std::int64_t integer(int column) const noexcept { return sqlite3_column_int64(made_, column); }
  [[nodiscard]] std::string_view bytes(int column) const noexcept {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(made_, column));
    return data == nullptr ? std::string_view{}
                           : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(made_, column)));
  }
  void reset() noexcept { sqlite3_reset(made_); }
  /// For a statement that returns no rows: step and reset. SQLITE_OK, or the error.
  int run() noexcept;

 private:
  const char* text_;
  sqlite3_stmt* made_ = nullptr;
};

/// Whether an error code only says that somebody else is writing.
constexpr bool is_busy(int code) noexcept { return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED; }

/// An open database file. One thread at a time.
class connection {
 public:
  static result<std::unique_ptr<connection>> open(const std::string& path);
  explicit connection(std::string path) noexcept : path_(std::move(path)) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  [[nodiscard]] sqlite3* raw() const noexcept { return db_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// SQL without parameters and without interest in its rows. SQLITE_OK, or the error.
  int run(const char* sql) noexcept { return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); }
  [[nodiscard]] bool in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }
  /// What a code means to the caller: which file, what we were doing, SQLite's own words, what to do about it.
  [[nodiscard]] failure explain(int code, std::string_view doing) const;

 private:
  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace interlock::inline v1::sqlite_store
