// SPDX-License-Identifier: MIT
#include "backends/memcached/dial.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

namespace interlock::inline v1::memcached_store {

established::established(established&& other) noexcept
    : socket(std::exchange(other.socket, -1)), bytes(std::move(other.bytes)), stats(std::move(other.stats)) {}

established::~established() {
  bytes.reset();
  if (socket >= 0) ::close(socket);
}

namespace {

using progress = net::stream::progress;

constexpr milliseconds slice{50};  // how soon a cancelled one notices

/// One attempt, with its deadline.
class attempt {
 public:
  attempt(const memcached_settings& to, const std::atomic<bool>& cancelled)
      : to_(to), until_(boot_clock::now() + to.connect_timeout), cancelled_(cancelled) {}

  result<established> make() {
    established out;
    if (auto up = to_.path.empty() ? over_tcp(out) : over_socket(out); !up) return up.error();
    if (auto wrapped = wrap(out); !wrapped) return wrapped.error();
    if (auto known = introduce(out); !known) return known.error();
    if (auto told = learn(out); !told) return told.error();
    return out;
  }

 private:
  failure wrong(int error) const { return failure(errc::unavailable, std::generic_category().message(error)); }

  result<void> await(int socket, short what) const {
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(until_ - boot_clock::now());
      if (cancelled_.load()) return failure(errc::closed);
      if (left <= milliseconds{0}) return failure(errc::unavailable, "no connection in time");
      pollfd one{socket, what, 0};
      if (::poll(&one, 1, static_cast<int>(std::min(left, slice).count())) > 0) return {};
    }
  }

  result<void> over_tcp(established& out) const {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    if (const int no = ::getaddrinfo(to_.host.c_str(), std::to_string(to_.port).c_str(), &wanted, &found); no != 0)
      return failure(errc::unavailable, "the host name could not be looked up: " + std::string(gai_strerror(no)));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
    result<void> last = failure(errc::unavailable, "no address");
    for (const auto* one = found; one != nullptr && !last; one = one->ai_next)
      last = connect(out, one->ai_family, one->ai_addr, one->ai_addrlen);
    return last;
  }

  result<void> over_socket(established& out) const {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    if (to_.path.size() >= sizeof local.sun_path)
      return failure(errc::invalid_argument, "the path of a unix socket is too long");
    std::memcpy(local.sun_path, to_.path.data(), to_.path.size());
    return connect(out, AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local);
  }

  result<void> connect(established& out, int family, const sockaddr* to, socklen_t size) const {
    if (out.socket >= 0) ::close(out.socket);
    out.socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out.socket < 0) return wrong(errno);
    if (family != AF_UNIX) {
      const auto set = [&](int level, int option, int value) {
        ::setsockopt(out.socket, level, option, &value, sizeof value);
      };
      set(IPPROTO_TCP, TCP_NODELAY, 1);
      set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(to_.timeout.count()));
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

  // In TLS, or as it is.
  result<void> wrap(established& out) const {
    out.bytes = net::plain_stream(out.socket);
#if INTERLOCK_MEMCACHED_TLS
    if (!to_.tls) return {};
    auto made = net::tls_stream(out.socket, to_.tls, to_.host);
    if (!made) return made.error();
    out.bytes = std::move(*made);
    for (auto next = out.bytes->shake_hands(); next != progress::done; next = out.bytes->shake_hands()) {
      if (next == progress::ended) return failure(errc::unavailable, out.bytes->reason());
      if (auto ready = await(out.socket, next == progress::wants_write ? POLLOUT : POLLIN); !ready) return ready;
    }
#endif
    return {};
  }

  result<void> send(const established& to, std::string_view what) const {
    while (!what.empty()) {
      const auto sent = to.bytes->write(what.data(), what.size());
      if (sent.is == progress::ended) return failure(errc::unavailable, to.bytes->reason());
      what.remove_prefix(sent.bytes);
      if (sent.is != progress::done)
        if (auto ready = await(to.socket, sent.is == progress::wants_write ? POLLOUT : POLLIN); !ready) return ready;
    }
    return {};
  }

  // Up to this ending.
  result<std::string> receive(const established& from, std::string_view ending) const {
    std::string out;
    char room[4096];
    while (!out.ends_with(ending)) {
      const auto got = from.bytes->read(room, sizeof room);
      if (got.is == progress::ended) return failure(errc::unavailable, from.bytes->reason());
      if (got.is != progress::done) {
        if (auto ready = await(from.socket, got.is == progress::wants_write ? POLLOUT : POLLIN); !ready)
          return ready.error();
        continue;
      }
      out.append(room, got.bytes);
      if (out.starts_with("CLIENT_ERROR") || out.starts_with("ERROR") || out.starts_with("SERVER_ERROR")) break;
    }
    return out;
  }

  // As memcached -Y wants it: a set of any key, with user and password.
  result<void> introduce(const established& to) const {
    std::string password;
    try {
      if (to_.password) password = to_.password();
    } catch (const std::exception& why) {
      return failure(errc::denied, std::string("no password: ") + why.what());
    }
    if (password.empty() && to_.user.empty()) return {};
    const auto words = to_.user + " " + password;
    if (auto sent = send(to, "set auth 0 0 " + std::to_string(words.size()) + "\r\n" + words + "\r\n"); !sent)
      return sent;
    const auto said = receive(to, "\r\n");
    if (!said) return said.error();
    if (*said != "STORED\r\n") return failure(errc::denied, "user or password is wrong");
    return {};
  }

  result<void> learn(established& out) const {
    if (auto sent = send(out, "stats\r\n"); !sent) return sent;
    const auto said = receive(out, "END\r\n");
    if (!said) return said.error();
    if (said->starts_with("CLIENT_ERROR unauth"))
      return failure(errc::denied, "the server wants a user and a password in the URL");
    std::string_view rest = *said;
    while (rest.starts_with("STAT ")) {
      rest.remove_prefix(5);
      const auto line = rest.substr(0, rest.find("\r\n"));
      const auto space = line.find(' ');
      if (space != line.npos) out.stats.emplace(line.substr(0, space), line.substr(space + 1));
      rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    }
    if (!out.stats.contains("pid")) return failure(errc::unavailable, "it does not greet as Memcached does");
    return {};
  }

  const memcached_settings& to_;
  const instant until_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace

result<established> dial(const memcached_settings& to, const std::atomic<bool>& cancelled) {
  return attempt(to, cancelled).make();
}

}  // namespace interlock::inline v1::memcached_store
