// SPDX-License-Identifier: MIT
#include "net/dial.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

namespace interlock::inline v1::net {
namespace {

using progress = stream::progress;

constexpr milliseconds slice{50};  // how soon a cancelled one notices

failure wrong(int error) { return failure(errc::unavailable, std::generic_category().message(error)); }

}  // namespace

established::established(established&& other) noexcept
    : socket(std::exchange(other.socket, -1)), bytes(std::move(other.bytes)) {}

established::~established() {
  bytes.reset();
  if (socket >= 0) ::close(socket);
}

result<void> dial::await(int socket, short what) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until_ - boot_clock::now());
    if (cancelled_.load()) return failure(errc::closed);
    if (left <= milliseconds{0}) return failure(errc::unavailable, "no connection in time");
    pollfd one{socket, what, 0};
    if (::poll(&one, 1, static_cast<int>(std::min(left, slice).count())) > 0) return {};
  }
}

result<void> dial::tcp(const std::string& host, std::uint16_t port, milliseconds unheard, established& out) const {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int no = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); no != 0)
    return failure(errc::unavailable, "the host name could not be looked up: " + std::string(gai_strerror(no)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  result<void> last = failure(errc::unavailable, "no address");
  for (const auto* one = found; one != nullptr && !last; one = one->ai_next)
    last = connect(out, one->ai_family, one->ai_addr, one->ai_addrlen, unheard);
  return last;
}

result<void> dial::local(const std::string& path, established& out) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path)
    return failure(errc::invalid_argument, "the path of a unix socket is too long");
  std::memcpy(to.sun_path, path.data(), path.size());
  return connect(out, AF_UNIX, reinterpret_cast<const sockaddr*>(&to), sizeof to, {});
}

result<void> dial::connect(established& out, int family, const sockaddr* to, unsigned size,
                           milliseconds unheard) const {
  if (out.socket >= 0) ::close(out.socket);
  out.socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (out.socket < 0) return wrong(errno);
  if (family != AF_UNIX) {
    const auto set = [&](int level, int option, int value) {
      ::setsockopt(out.socket, level, option, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unheard.count()));
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  }
  if (::connect(out.socket, to, size) != 0) {
    if (errno != EINPROGRESS) return wrong(errno);
    if (auto ready = await(out.socket, POLLOUT); !ready) return ready;
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(out.socket, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return wrong(error);
  return {};
}

result<void> dial::shake_hands(established& out) const {
  for (auto next = out.bytes->shake_hands(); next != progress::done; next = out.bytes->shake_hands()) {
    if (next == progress::ended) return failure(errc::unavailable, out.bytes->reason());
    if (auto ready = await(out.socket, next == progress::wants_write ? POLLOUT : POLLIN); !ready) return ready;
  }
  return {};
}

}  // namespace interlock::inline v1::net
