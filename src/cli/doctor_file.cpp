// SPDX-License-Identifier: MIT
#include "cli/doctor.hpp"
#include "cli/words.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

using verdict = finding::verdict;

struct file_system {
  long magic;
  std::string_view name;
  verdict is;
  std::string_view advice;
};

constexpr std::string_view not_shared = "file locks do not reach other hosts reliably there: use a local disk";
constexpr std::string_view volatile_there = "everything is forgotten at the next boot, tokens too: use a disk";

// XFS, ZFS, CIFS, SMB2 and Ceph have no name in linux/magic.h.
constexpr std::array known{
    file_system{EXT4_SUPER_MAGIC, "ext4", verdict::ok, ""},
    file_system{BTRFS_SUPER_MAGIC, "btrfs", verdict::ok, ""},
    file_system{0x58465342, "xfs", verdict::ok, ""},
    file_system{0x2fc12fc1, "zfs", verdict::ok, ""},
    file_system{F2FS_SUPER_MAGIC, "f2fs", verdict::ok, ""},
    file_system{OVERLAYFS_SUPER_MAGIC, "overlay", verdict::ok, ""},
    file_system{TMPFS_MAGIC, "tmpfs", verdict::warn, volatile_there},
    file_system{RAMFS_MAGIC, "ramfs", verdict::warn, volatile_there},
    file_system{NFS_SUPER_MAGIC, "nfs", verdict::fail, not_shared},
    file_system{SMB_SUPER_MAGIC, "smb", verdict::fail, not_shared},
    file_system{0xff534d42, "cifs", verdict::fail, not_shared},
    file_system{0xfe534d42, "smb2", verdict::fail, not_shared},
    file_system{0x00c36400, "ceph", verdict::fail, not_shared},
    file_system{V9FS_MAGIC, "9p", verdict::fail, not_shared},
    file_system{AFS_SUPER_MAGIC, "afs", verdict::fail, not_shared},
};

void look_at_file_system(const struct statfs& about, findings& out) {
  for (const auto& one : known)
    if (one.magic == static_cast<long>(about.f_type)) {
      out.push_back({one.is, "file system", std::string(one.name), std::string(one.advice)});
      return;
    }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "type 0x%lx", static_cast<unsigned long>(about.f_type));
  out.push_back({verdict::warn, "file system", text.data(), "make sure that it is local to this host"});
}

void look_at_mode(const struct stat& about, findings& out) {
  std::array<char, 16> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(about.st_mode & 07777U));
  const bool open = (about.st_mode & 022U) != 0;
  out.push_back({open ? verdict::warn : verdict::ok, "file mode", mode.data(),
                 open ? "others can change who holds what: chmod go-w, unless that is wanted" : ""});
}

void look_at_space(const struct statfs& about, findings& out) {
  const auto free_mib =
      static_cast<unsigned long long>(about.f_bavail) * static_cast<unsigned long long>(about.f_bsize) >> 20U;
  const bool tight = free_mib < 16;
  out.push_back({tight ? verdict::warn : verdict::ok, "free space", std::to_string(free_mib) + " MiB",
                 tight ? "a full disk grants no locks" : ""});
}

}  // namespace

void examine_file(const std::string& path, findings& out) {
  struct stat file {};
  struct statfs system {};
  if (::stat(path.c_str(), &file) != 0 || ::statfs(path.c_str(), &system) != 0) {
    out.push_back(
        {verdict::fail, "file", path + ": " + std::generic_category().message(errno), "look at the path in the URL"});
    return;
  }
  out.push_back({verdict::ok, "file", path});
  look_at_file_system(system, out);
  look_at_mode(file, out);
  look_at_space(system, out);
}

}  // namespace interlock::cli
