// SPDX-License-Identifier: MIT
#include "backends/memcached/dial.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

namespace interlock::inline v1::memcached_store {

namespace {

using progress = net::stream::progress;

/// One attempt, with its deadline.
class attempt {
 public:
  attempt(const memcached_settings& to, const std::atomic<bool>& cancelled)
      : to_(to), dial_(to.connect_timeout, cancelled) {}

  result<established> make() {
    established out;
    if (auto up = to_.path.empty() ? dial_.tcp(to_.host, to_.port, to_.timeout, out) : dial_.local(to_.path, out); !up)
      return up.error();
    if (auto wrapped = wrap(out); !wrapped) return wrapped.error();
    if (auto known = introduce(out); !known) return known.error();
    if (auto told = learn(out); !told) return told.error();
    return out;
  }

 private:
  // In TLS, or as it is.
  result<void> wrap(established& out) const {
    out.bytes = net::plain_stream(out.socket);
#if INTERLOCK_MEMCACHED_TLS
    if (!to_.tls) return {};
    auto made = net::tls_stream(out.socket, to_.tls, to_.host);
    if (!made) return made.error();
    out.bytes = std::move(*made);
#endif
    return dial_.shake_hands(out);
  }

  result<void> send(const established& to, std::string_view what) const {
    while (!what.empty()) {
      const auto sent = to.bytes->write(what.data(), what.size());
      if (sent.is == progress::ended) return failure(errc::unavailable, to.bytes->reason());
      what.remove_prefix(sent.bytes);
      if (sent.is != progress::done)
        if (auto ready = dial_.await(to.socket, sent.is == progress::wants_write ? POLLOUT : POLLIN); !ready)
          return ready;
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
        if (auto ready = dial_.await(from.socket, got.is == progress::wants_write ? POLLOUT : POLLIN); !ready)
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
  const net::dial dial_;
};

}  // namespace

result<established> dial(const memcached_settings& to, const std::atomic<bool>& cancelled) {
  return attempt(to, cancelled).make();
}

}  // namespace interlock::inline v1::memcached_store
