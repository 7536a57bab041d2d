// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>
#include <interlock/result.hpp>

#include <sys/types.h>

#include <string>
#include <string_view>

namespace interlock::inline v1::sqlite_store {

/// The database file, found fit to hold locks: a plain file on a local file system that strangers cannot write.
struct store_file {
  std::string path;  ///< absolute, without symbolic links in its folder
  dev_t device{};
  ino_t inode{};
  mode_t mode{};
  uid_t owner{};
  gid_t group{};
};

/// Finds the URL's file, or creates it empty with mode 0600 whatever the umask is. Its folder must be there.
result<store_file> find_store_file(const store_url& url);

/// Whether `path` still is the file that was found. Locks in a file that was removed or replaced protect nobody.
bool still_there(const store_file& file) noexcept;

/// The name of a file system whose locks are not to be trusted or whose files other kernels may share; else empty.
std::string_view refused_file_system(unsigned long type) noexcept;

}  // namespace interlock::inline v1::sqlite_store
