// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

#include "api/fence_token.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

/// The order of a write, and why a crash anywhere leaves the fence at least as high as the content's writer:
///
/// 1. the new content goes to FILE.next and to the disk (what can fail usually fails here: nothing has changed);
/// 2. FILE.fence is raised, and is on the disk;
/// 3. FILE.next becomes FILE in one step.
///
/// FILE.fence is also what is locked, so it is changed in place: renaming a new one over it would let two processes
/// hold "the" lock on two files. Its number always has the same width, so the change is one write inside one sector.
namespace interlock::inline v1 {
namespace {

using path = std::filesystem::path;

constexpr std::size_t fence_size = 20;  // 19 digits and a line end

class descriptor {
 public:
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

path beside(const path& file, const char* suffix) {
  auto other = file;
  other += suffix;
  return other;
}

failure system_failure(const char* doing, const path& file, errc code = errc::unavailable) {
  return failure{code, std::string{doing} + ' ' + file.string() + ": " + std::generic_category().message(errno)};
}

template <class Call>
auto again_if_interrupted(Call call) {
  auto got = call();
  while (got < 0 && errno == EINTR) got = call();
  return got;
}

int open_file(const path& file, int flags, mode_t mode = 0) {
  return again_if_interrupted([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); });
}

/// A lock of the open file, not of the process: two threads exclude each other, and closing another descriptor of the
/// same file does not let go of it.
bool lock_open_file(int fd, short kind) {
  struct flock all {};
  all.l_type = kind;
  all.l_whence = SEEK_SET;
  return again_if_interrupted([&] { return ::fcntl(fd, F_OFD_SETLKW, &all); }) == 0;
}

bool write_all(int fd, std::string_view rest) {
  while (!rest.empty()) {
    const auto sent = again_if_interrupted([&] { return ::write(fd, rest.data(), rest.size()); });
    if (sent < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

result<std::string> read_all(int fd, const path& file) {
  std::string content;
  std::array<char, 16384> part;
  for (;;) {
    const auto got = again_if_interrupted([&] { return ::read(fd, part.data(), part.size()); });
    if (got < 0) return system_failure("cannot read", file);
    if (got == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(got));
  }
}

/// Makes names in the file's directory durable: files created, renamed.
bool sync_directory_of(const path& file) {
  const auto parent = file.parent_path();
  const descriptor directory{open_file(parent.empty() ? path{"."} : parent, O_RDONLY | O_DIRECTORY)};
  return directory && again_if_interrupted([&] { return ::fsync(directory.get()); }) == 0;
}

result<std::optional<fencing_token>> read_fence(int fd, const path& file) {
  auto text = read_all(fd, file);
  if (!text) return text.error();
  if (text->empty()) return std::optional<fencing_token>{};
  std::string_view number = *text;
  if (number.size() == fence_size && number.back() == '\n') {
    number.remove_suffix(1);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    if (const auto token = parse_token(number)) return token;
  }
  // Not a number is not "none yet": guessing would let a stale holder in.
  return failure{errc::unavailable, file.string() + " does not hold a token; remove it only if no holder is left"};
}

result<void> raise_fence(int fd, bool first, fencing_token token, const path& file) {
  std::array<char, fence_size + 1> text{};
  std::snprintf(text.data(), text.size(), "%019llu\n", static_cast<unsigned long long>(token.value()));
  const auto sent = again_if_interrupted([&] { return ::pwrite(fd, text.data(), fence_size, 0); });
  if (sent != static_cast<ssize_t>(fence_size)) {
    if (sent >= 0) errno = ENOSPC;
    auto why = system_failure("cannot raise", file);
    // Half a number would refuse everybody for ever; a rewritten one has kept its width and cannot come out short.
    if (first && ::ftruncate(fd, 0) != 0) why = system_failure("half written, remove it:", file);
    return why;
  }
  if (again_if_interrupted([&] { return ::fdatasync(fd); }) != 0) return system_failure("cannot sync", file);
  if (first && !sync_directory_of(file)) return system_failure("cannot sync the directory of", file);
  return {};
}

/// FILE.next, removed again unless it took its place. Only one can exist at a time, under the lock, so that one left
/// behind by a crash is replaced by the next writer and never piles up.
class next_file {
 public:
  explicit next_file(const path& file) : file_(file), next_(beside(file, ".next")) {}
  next_file(const next_file&) = delete;
  next_file& operator=(const next_file&) = delete;
  ~next_file() {
    if (!placed_) ::unlink(next_.c_str());
  }

  result<void> fill(std::string_view content) const {
    struct stat now {};
    const bool exists = ::stat(file_.c_str(), &now) == 0;
    if (!exists && errno != ENOENT) return system_failure("cannot look at", file_);
    if (exists && !S_ISREG(now.st_mode)) return failure{errc::unavailable, file_.string() + " is not a regular file"};
    if (::unlink(next_.c_str()) != 0 && errno != ENOENT) return system_failure("cannot replace", next_);
    // O_EXCL: in a directory others write to, nobody else's file or link gets our content.
    const descriptor next{open_file(next_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, exists ? 0600 : 0666)};
    if (!next) return system_failure("cannot create", next_);
    if (exists && ::fchmod(next.get(), now.st_mode & 07777) != 0)
      return system_failure("cannot set the mode of", next_);
    if (!write_all(next.get(), content)) return system_failure("cannot write", next_);
    if (again_if_interrupted([&] { return ::fsync(next.get()); }) != 0) return system_failure("cannot sync", next_);
    return {};
  }
  result<void> place() {
    if (::rename(next_.c_str(), file_.c_str()) != 0) return system_failure("cannot replace", file_);
    placed_ = true;
    if (!sync_directory_of(file_))
      return system_failure("written, but perhaps not for good:", file_, errc::indeterminate);
    return {};
  }

 private:
  const path& file_;
  path next_;
  bool placed_ = false;
};

}  // namespace

fenced_file::fenced_file(std::filesystem::path file) : path_(std::move(file)) {}

fenced_file::file_lock::~file_lock() {
  if (fd_ >= 0) ::close(fd_);
}

result<fenced_file::file_lock> fenced_file::lock() const {
  const auto file = beside(path_, ".fence");
  for (;;) {
    descriptor fence{open_file(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600)};
    if (!fence) return system_failure("cannot open", file);
    if (!lock_open_file(fence.get(), F_WRLCK)) return system_failure("cannot lock", file);
    struct stat locked {
    }, named{};
    if (::fstat(fence.get(), &locked) != 0) return system_failure("cannot look at", file);
    // Removed or replaced while we queued: what we hold is a lock on a file nobody else will open.
    if (::lstat(file.c_str(), &named) == 0 && named.st_dev == locked.st_dev && named.st_ino == locked.st_ino)
      return file_lock{fence.release()};
  }
}

result<void> fenced_file::write(fencing_token token, std::string_view content) {
  auto locked = lock();
  if (!locked) return locked.error();
  return write_locked(token, content);
}

result<void> fenced_file::write_locked(fencing_token token, std::string_view content) {
  if (!is_token(token)) return failure{errc::invalid_argument, "a fencing token is 1 to 2^63 - 1"};
  const auto file = beside(path_, ".fence");
  const descriptor fence{open_file(file, O_RDWR | O_NOFOLLOW)};
  if (!fence) return system_failure("cannot open", file);
  const auto highest = read_fence(fence.get(), file);
  if (!highest) return highest.error();
  if (*highest > token)
    return failure{errc::lost, path_.string() + ": token " + to_string(token) + " is stale, " + to_string(**highest) +
                                   " has written"};
  next_file next{path_};
  if (auto filled = next.fill(content); !filled) return filled;
  if (*highest != token)
    if (auto raised = raise_fence(fence.get(), !highest->has_value(), token, file); !raised) return raised;
  return next.place();
}

result<std::string> fenced_file::read_locked() const {
  const descriptor file{open_file(path_, O_RDONLY)};
  if (file) return read_all(file.get(), path_);
  if (errno == ENOENT) return std::string{};
  return system_failure("cannot open", path_);
}

// Needs no lock: a write replaces the file in one step, so what is open is whole.
result<std::string> fenced_file::read() const { return read_locked(); }

result<std::optional<fencing_token>> fenced_file::highest() const {
  const auto file = beside(path_, ".fence");
  const descriptor fence{open_file(file, O_RDONLY | O_NOFOLLOW)};
  if (!fence && errno == ENOENT) return std::optional<fencing_token>{};
  if (!fence) return system_failure("cannot open", file);
  if (!lock_open_file(fence.get(), F_RDLCK)) return system_failure("cannot lock", file);
  return read_fence(fence.get(), file);
}

}  // namespace interlock::inline v1
