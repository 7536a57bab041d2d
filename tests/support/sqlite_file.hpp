// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace interlock::test_support {

/// A store in a folder of its own, gone with this object; and SQLite's own view of it, behind interlock's back.
class sqlite_file {
 public:
  sqlite_file();
  sqlite_file(const sqlite_file&) = delete;
  sqlite_file& operator=(const sqlite_file&) = delete;
  ~sqlite_file();

  [[nodiscard]] std::string url() const { return "sqlite:" + path().string(); }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "locks.db"; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  [[nodiscard]] bool somebody_holds(std::string_view name) const;
  void remove_holders(std::string_view name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace interlock::test_support
