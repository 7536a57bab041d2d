// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_SQLITE

#include "support/sqlite_file.hpp"

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace interlock::test_support {

namespace {

struct closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::int64_t boot_micros() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

// One statement about one name, on a connection of its own: nothing is shared with the code under test.
std::int64_t ask(const std::filesystem::path& file, const char* sql, std::string_view name, bool with_time) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, closer> db(raw);
  if (opened != SQLITE_OK) throw std::runtime_error("cannot open " + file.string());
  sqlite3_busy_timeout(raw, 10'000);
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(raw, sql, -1, &prepared, nullptr) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(raw));
  const std::unique_ptr<sqlite3_stmt, closer> statement(prepared);
  sqlite3_bind_blob(prepared, 1, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
  if (with_time) sqlite3_bind_int64(prepared, 2, boot_micros());
  const int stepped = sqlite3_step(prepared);
  if (stepped != SQLITE_ROW && stepped != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(raw));
  return stepped == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : 0;
}

}  // namespace

sqlite_file::sqlite_file() {
  auto pattern = (std::filesystem::temp_directory_path() / "interlock-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + pattern);
  folder_ = pattern;
}

sqlite_file::~sqlite_file() {
  std::error_code ignored;  // a folder left in the temporary directory fails no test
  std::filesystem::remove_all(folder_, ignored);
}

bool sqlite_file::somebody_holds(std::string_view name) const {
  return ask(path(), "select count(*) from book where name = ? and seq > 0 and (flags & 3) = 1 and ends >= ?", name,
             true) > 0;
}

void sqlite_file::remove_holders(std::string_view name) const {
  ask(path(), "delete from book where name = ? and seq > 0 and (flags & 3) = 1", name, false);
}

}  // namespace interlock::test_support

#endif
