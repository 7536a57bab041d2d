// SPDX-License-Identifier: MIT
#include "support/temporary_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace interlock::test_support {

temporary_folder::temporary_folder(const std::string& what) {
  auto pattern = (std::filesystem::temp_directory_path() / ("interlock-" + what + "-XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a folder like " + pattern);
  }
  path_ = pattern;
  using std::filesystem::perms;
  std::filesystem::permissions(
      path_, perms::owner_all | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec);
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;  // a folder left in the temporary directory fails no test
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace interlock::test_support
