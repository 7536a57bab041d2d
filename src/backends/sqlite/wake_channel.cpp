// SPDX-License-Identifier: MIT
#include "backends/sqlite/wake_channel.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace interlock::inline v1::sqlite_store {
namespace {

constexpr std::size_t name_length = 16;

/// One datagram. Same host, same user, so no byte order; `magic` changes with the layout.
// In the place of `evicted`: to programs that know of no cells, the eviction of a claim they do not have.
constexpr std::uint8_t cell_news = 2;

struct datagram {
  std::uint32_t magic = 0x316b6c69;
  std::uint8_t evicted = 0;
  std::uint8_t mode = 0;
  std::uint16_t unused = 0;
  std::array<std::byte, 16> secret{};
  std::uint64_t token = 0;
  std::uint64_t memo = 0;
  std::uint32_t tokens = 0;
  std::uint32_t behind = 0;
};
static_assert(sizeof(datagram) == 48);

std::array<char, name_length + 1> socket_name(std::int64_t id) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  auto rest = static_cast<std::uint64_t>(id);
  std::array<char, name_length + 1> out{};
  for (std::size_t at = name_length; at-- > 0; rest >>= 4) out[at] = digits[rest & 15];
  return out;
}

failure no(std::string_view what, int error) {
  return failure(errc::unavailable, std::string(what) + ": " + std::generic_category().message(error));
}

// Whoever may use the database may use the folder beside it, and nobody else.
mode_t folder_mode(mode_t file) noexcept {
  mode_t out = 0700;
  if ((file & 0060) == 0060) out |= 0070;
  return out;
}

}  // namespace

result<std::unique_ptr<wake_channel>> wake_channel::open(const store_file& file) {
  auto made = std::make_unique<wake_channel>();
  if (auto good = made->open_folder(file); !good) return good.error();
  if (auto good = made->pick_name(); !good) return good.error();
  made->mode_ = (folder_mode(file.mode) & 0070) != 0 ? 0660 : 0600;
  return made;
}

result<void> wake_channel::listen() {
  if (listening()) return {};
  if (auto good = bind_socket(); !good) return good;
  if (auto good = open_gate(); !good) return good;
  listening_.store(true, std::memory_order_release);
  return {};
}

result<void> wake_channel::open_folder(const store_file& file) {
  const std::string path = file.path + "-wake";
  const bool fresh = mkdir(path.c_str(), 0700) == 0;
  if (!fresh && errno != EEXIST) return no("the folder " + path + " could not be made", errno);
  folder_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_ < 0) return no("the folder " + path + " could not be opened", errno);
  if (fresh) {
    if (fchown(folder_, geteuid() == 0 ? file.owner : static_cast<uid_t>(-1), file.group) != 0 ||
        fchmod(folder_, folder_mode(file.mode)) != 0)
      return no("the folder " + path + " could not be given to the users of the database", errno);
  }
  struct stat found {};
  if (fstat(folder_, &found) != 0) return no("the folder " + path, errno);
  // In somebody else's folder, somebody else could answer for us.
  if ((found.st_mode & S_IWOTH) != 0 || (found.st_uid != file.owner && found.st_uid != geteuid() && found.st_uid != 0))
    return failure(errc::denied, "the folder " + path + " is not as private as the database");
  prefix_ = path + '/';
  if (prefix_.size() + name_length >= sizeof(sockaddr_un::sun_path))
    prefix_ = "/proc/self/fd/" + std::to_string(folder_) + '/';
  return {};
}

result<void> wake_channel::pick_name() {
  while (id_ == 0)
    if (getrandom(&id_, sizeof id_, 0) != sizeof id_) return no("no random number for a socket's name", errno);
  return {};
}

result<void> wake_channel::bind_socket() {
  if (socket_ < 0) socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return no("a socket for wake-ups could not be made", errno);
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string name = socket_name(id_).data();
  const auto path = prefix_ + name;
  path.copy(where.sun_path, sizeof where.sun_path - 1);
  // Linux gives a socket's file the mode of the socket itself, less the umask, and asks for write access to send. The
  // first fchmod keeps it shut until the second one opens it as far as it should be.
  fchmod(socket_, 0600);
  // An earlier try may have got further than this.
  if (name_.empty() && ::bind(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    return no("a socket for wake-ups could not be named", errno);
  name_ = name;
  if (fchmodat(folder_, name_.c_str(), mode_, 0) != 0)
    return no("a socket for wake-ups could not be opened to all", errno);
  return {};
}

result<void> wake_channel::open_gate() {
  if (gate_ < 0) gate_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event in{.events = EPOLLIN, .data = {}};
  if (gate_ < 0 || ::epoll_ctl(gate_, EPOLL_CTL_ADD, socket_, &in) != 0)
    return no("the socket for wake-ups could not be watched", errno);
  return {};
}

int wake_channel::borrow() noexcept {
  if (borrowed_.exchange(true)) return -1;
  ::epoll_ctl(gate_, EPOLL_CTL_DEL, socket_, nullptr);
  return socket_;
}

// What has arrived in the meantime makes the gate readable at once.
void wake_channel::give_back() noexcept {
  epoll_event in{.events = EPOLLIN, .data = {}};
  ::epoll_ctl(gate_, EPOLL_CTL_ADD, socket_, &in);
  borrowed_.store(false);
}

wake_channel::~wake_channel() {
  if (folder_ >= 0 && !name_.empty()) unlinkat(folder_, name_.c_str(), 0);
  for (auto& one : peers_) drop(one);
  if (gate_ >= 0) ::close(gate_);
  if (socket_ >= 0) ::close(socket_);
  if (folder_ >= 0) ::close(folder_);
}

// Where ours is gone too, somebody has removed the folder, and that says nothing about who is alive.
bool wake_channel::own_is_there() const noexcept {
  struct stat found {};
  return fstatat(folder_, name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

wake_channel::sent wake_channel::outcome(const char* socket, int error) const noexcept {
  if (error == EAGAIN || error == ENOBUFS) return sent::full;
  if (error == ENOENT) return own_is_there() ? sent::dead : sent::unknown;
  if (error != ECONNREFUSED) return sent::unknown;
  // The names are random, so this cannot be a newcomer's. If it cannot be removed, the next one to find it tries.
  unlinkat(folder_, socket, 0);
  return sent::dead;
}

sockaddr_un wake_channel::address(const char* socket) const noexcept {
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  prefix_.copy(where.sun_path, sizeof where.sun_path - 1);
  std::strncpy(where.sun_path + prefix_.size(), socket, sizeof where.sun_path - 1 - prefix_.size());
  return where;
}

wake_channel::sent wake_channel::send_bytes(const char* socket, const void* bytes, std::size_t size) noexcept {
  const auto where = address(socket);
  for (;;) {
    if (::sendto(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&where),
                 sizeof where) >= 0)
      return sent::yes;
    if (errno != EINTR) return outcome(socket, errno);
  }
}

// -1: not yet, or not any more; by name, then.
int wake_channel::connected(std::int64_t to) noexcept {
  for (auto& one : peers_) {
    if (one.id != to) continue;
    if (one.fd >= 0) return one.fd;
    one.fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const auto where = address(socket_name(to).data());
    if (one.fd < 0 || ::connect(one.fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0) return one.fd;
    drop(one);
    return -1;
  }
  auto& next = peers_[oldest_++ % peers_.size()];
  drop(next);
  next.id = to;
  return -1;
}

void wake_channel::drop(peer& one) noexcept {
  if (one.fd >= 0) ::close(one.fd);
  one = {};
}

wake_channel::sent wake_channel::send(std::int64_t to, const wake_message& what) noexcept {
  datagram out;
  out.evicted = what.evicted ? 1 : 0;
  out.mode = static_cast<std::uint8_t>(what.as.mode);
  out.secret = what.whom.bytes();
  out.token = what.as.token;
  out.tokens = what.as.tokens;
  out.behind = what.as.behind;
  out.memo = what.as.memo;
  const auto name = socket_name(to);
  const int fd = connected(to);
  if (fd < 0) return send_bytes(name.data(), &out, sizeof out);
  while (::send(fd, &out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    const auto how = outcome(name.data(), errno);
    if (how != sent::full)
      for (auto& one : peers_)
        if (one.id == to) drop(one);
    return how;
  }
  return sent::yes;
}

void wake_channel::receive(backend_events& events, bool all) noexcept {
  for (bool more = true; more; more = all) {
    datagram in;
    const auto got = ::recv(socket_, &in, sizeof in, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got != sizeof in || in.magic != datagram{}.magic) continue;  // a probe, or another version: timers do it then
    const claim_secret whom(in.secret);
    if (in.evicted == cell_news) {
      if (cells_) cells_(whom);
      continue;
    }
    if (in.evicted != 0) {
      events.evicted(whom);
      continue;
    }
    standing as;
    as.is = standing::kind::held;
    as.mode = static_cast<lock_mode>(in.mode);
    as.token = in.token;
    as.tokens = in.tokens;
    as.behind = in.behind;
    as.memo = in.memo;
    events.granted(whom, as);
  }
}

template <class F>
void wake_channel::each_other(int most, F visit) const noexcept {
  const int fd = ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const all = fd < 0 ? nullptr : fdopendir(fd);
  if (all == nullptr) {
    if (fd >= 0) ::close(fd);
    return;  // then there is some rubbish, and some news comes late
  }
  while (most-- > 0) {
    const auto* one = readdir(all);
    if (one == nullptr) break;
    if (std::strlen(one->d_name) == name_length && name_ != one->d_name) visit(one->d_name);
  }
  closedir(all);
}

void wake_channel::sweep(int most) noexcept {
  each_other(most, [&](const char* name) { send_bytes(name, "", 0); });  // an empty probe is ignored by the living
}

void wake_channel::announce(const claim_secret& cell, int most) noexcept {
  datagram out;
  out.evicted = cell_news;
  out.secret = cell.bytes();
  each_other(most, [&](const char* name) { send_bytes(name, &out, sizeof out); });
}

}  // namespace interlock::inline v1::sqlite_store
