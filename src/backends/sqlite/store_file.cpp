// SPDX-License-Identifier: MIT
#include "backends/sqlite/store_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace interlock::inline v1::sqlite_store {
namespace {

failure no(errc code, const std::string& path, std::string_view why) {
  return failure(code, "sqlite store " + path + ": " + std::string(why));
}
failure no(const std::string& path, std::string_view doing, int error) {
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return no(denied ? errc::denied : errc::unavailable, path,
            std::string(doing) + ": " + std::generic_category().message(error));
}

struct place {
  std::string folder, base;
};

result<place> take_apart(const store_url& url) {
  constexpr std::string_view rule = "store URL: write sqlite:/path/to/file.db or sqlite:relative.db";
  for (const auto& one : url.endpoints)
    if (!one.host.empty() || one.port) return failure(errc::invalid_argument, rule);
  const auto& path = url.path;
  if (path.empty() || path.back() == '/' || path.find('\0') != std::string::npos || !url.user.empty())
    return failure(errc::invalid_argument, rule);
  const auto slash = path.rfind('/');
  place out{slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
  if (out.base == "." || out.base == "..") return failure(errc::invalid_argument, rule);
  return out;
}

// To its name, unless somebody was faster. Not by link(): for a moment the file would have two names, and the other
// one would find it unfit.
int put_in_place(const std::string& draft, const std::string& path) noexcept {
  if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  const int error = errno;
  unlink(draft.c_str());
  return error == EEXIST ? 0 : error;
}

// Made under a name nobody knows, and closed before it gets its own: had we the real name open, closing it would end
// the POSIX locks that another client of this process may have on it by then.
result<void> create(const std::string& path) {
  std::string draft = path + ".XXXXXX";
  const int fd = mkostemp(draft.data(), O_CLOEXEC);
  if (fd < 0) return no(path, "could not create the file", errno);
  const int mode_error = fchmod(fd, 0600) != 0 ? errno : 0;
  ::close(fd);
  if (mode_error != 0) {
    unlink(draft.c_str());
    return no(path, "could not set the mode of the file", mode_error);
  }
  if (const int error = put_in_place(draft, path); error != 0) return no(path, "could not create the file", error);
  return {};
}

result<store_file> inspect(const std::string& path, const struct stat& found) {
  if (S_ISLNK(found.st_mode)) return no(errc::denied, path, "is a symbolic link; name the file itself");
  if (S_ISDIR(found.st_mode)) return no(errc::invalid_argument, path, "is a folder; name a file in it");
  if (!S_ISREG(found.st_mode)) return no(errc::invalid_argument, path, "is not a plain file");
  if ((found.st_mode & S_IWOTH) != 0)
    return no(errc::denied, path, "everybody can write this file, and so take or end any lock; chmod o-w it");
  if (found.st_nlink > 1)
    return no(errc::unsupported, path, "has more than one name (hard link), and SQLite keeps a log for each of them");
  return store_file{.path = path,
                    .device = found.st_dev,
                    .inode = found.st_ino,
                    .mode = found.st_mode & 0777,
                    .owner = found.st_uid,
                    .group = found.st_gid};
}

}  // namespace

std::string_view refused_file_system(unsigned long type) noexcept {
  switch (static_cast<std::uint32_t>(type)) {  // statfs(2); 32 bits, sign-extended on some machines
    case 0x6969: return "nfs";
    case 0x517b: return "smb";
    case 0xff534d42: return "cifs";
    case 0xfe534d42: return "smb2";
    case 0x01021997: return "9p";
    case 0x65735546: return "fuse";
    case 0x00c36400: return "ceph";
    case 0x5346414f:
    case 0x6b414653: return "afs";
    case 0x73757245: return "coda";
    case 0x564c: return "ncp";
    case 0x01161970: return "gfs2";
    case 0x7461636f: return "ocfs2";
    case 0x0bd00bd0: return "lustre";
    case 0x47504653: return "gpfs";
    case 0x786f4256: return "vboxsf";
    case 0xbacbacbc: return "vmhgfs";
    case 0x7c7c6673: return "prl_fs";
    case 0xaad7aaea: return "panfs";
    case 0x19830326: return "beegfs";
    case 0x61636673: return "acfs";
    case 0xbeefdead: return "snfs";
    default: return {};
  }
}

result<store_file> find_store_file(const store_url& url) {
  auto where = take_apart(url);
  if (!where) return where.error();
  const std::unique_ptr<char, decltype(&std::free)> folder(realpath(where->folder.c_str(), nullptr), &std::free);
  if (!folder) {
    if (errno == ENOENT)
      return no(errc::unavailable, url.path, "its folder " + where->folder + " does not exist; create it first");
    return no(url.path, "its folder " + where->folder, errno);
  }
  const std::string path = (folder.get()[1] == '\0' ? std::string() : std::string(folder.get())) + '/' + where->base;

  struct statfs system {};
  if (statfs(folder.get(), &system) != 0) return no(path, "could not ask which file system it is on", errno);
  if (const auto type = refused_file_system(static_cast<unsigned long>(system.f_type)); !type.empty())
    return no(errc::unsupported, path,
              "is on " + std::string(type) +
                  ", where file locks and shared memory cannot be trusted; put it on a local disk, or use a server");

  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno != ENOENT) return no(path, "could not look at the file", errno);
    if (auto made = create(path); !made) return made.error();
    if (lstat(path.c_str(), &found) != 0) return no(path, "could not look at the file", errno);
  }
  return inspect(path, found);
}

bool still_there(const store_file& file) noexcept {
  struct stat found {};
  return lstat(file.path.c_str(), &found) == 0 && found.st_dev == file.device && found.st_ino == file.inode;
}

}  // namespace interlock::inline v1::sqlite_store
