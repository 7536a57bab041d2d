// SPDX-License-Identifier: MIT
#include "support/temporary_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace interlock::test_support {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

// Not one of ours that is just being made: it is locked a moment after.
constexpr auto grace = 5min;

// The lock of a folder, if nobody has it; -1 otherwise.
int lock_of(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// What tests left behind that were killed. Somebody else may be doing the same right now, so nothing here is an error.
void sweep(const fs::path& where, const std::string& beginning) {
  std::error_code ignored;
  for (fs::directory_iterator at(where, ignored), end; at != end; at.increment(ignored)) {
    if (!at->path().filename().string().starts_with(beginning)) continue;
    const auto written = fs::last_write_time(at->path(), ignored);
    if (ignored || fs::file_time_type::clock::now() - written < grace) continue;
    const int fd = lock_of(at->path());
    if (fd < 0) continue;
    fs::remove_all(at->path(), ignored);
    close(fd);
  }
}

}  // namespace

temporary_folder::temporary_folder(const std::string& what, const fs::path& where) {
  const auto beginning = "interlock-" + what + "-";
  sweep(where, beginning);
  auto pattern = (where / (beginning + "XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a folder like " + pattern);
  }
  path_ = pattern;
  lock_ = lock_of(path_);
  using fs::perms;
  fs::permissions(path_,
                  perms::owner_all | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec);
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;  // a folder left in the temporary directory fails no test
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace interlock::test_support
