// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace interlock::test_support {

/// A folder of a test's own, gone with this object; after a test that was killed, with some later test. Others may read
/// it: some servers give up being root.
class temporary_folder {
 public:
  /// `what` is part of its name.
  explicit temporary_folder(const std::string& what,
                            const std::filesystem::path& where = std::filesystem::temp_directory_path());
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // says that somebody still needs it
};

}  // namespace interlock::test_support
