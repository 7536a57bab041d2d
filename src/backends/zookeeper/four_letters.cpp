// SPDX-License-Identifier: MIT
#include "backends/zookeeper/four_letters.hpp"

#include "backends/zookeeper/requests.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

using clock = std::chrono::steady_clock;
using progress = net::stream::progress;

/// A connection of its own, for one question and its answer.
class dialogue {
 public:
  dialogue(const endpoint& where, const session_settings& with) : end_(clock::now() + with.connect_timeout) {
    connect(where);
    if (socket_ >= 0) begin(where, with);
  }
  dialogue(const dialogue&) = delete;
  dialogue& operator=(const dialogue&) = delete;
  ~dialogue() {
    stream_.reset();
    if (socket_ >= 0) ::close(socket_);
  }

  void say(std::string_view text) {
    while (wrong_.empty() && !text.empty()) {
      const auto moved = stream_->write(text.data(), text.size());
      if (moved.is == progress::ended) return fail(stream_->reason());
      text.remove_prefix(moved.bytes);
      if (moved.bytes == 0 && !wait(POLLOUT)) return fail(late);
    }
  }
  /// All there is until `most` bytes or the end.
  std::string hear(std::size_t most) {
    std::string out;
    char some[4096];
    while (wrong_.empty() && out.size() < most) {
      const auto moved = stream_->read(some, std::min(sizeof some, most - out.size()));
      if (moved.is == progress::ended) break;
      out.append(some, moved.bytes);
      if (moved.bytes == 0 && !wait(POLLIN)) fail(late);
    }
    return out;
  }
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

 private:
  static constexpr const char* late = "no answer in time";

  void fail(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }
  void begin(const endpoint& where, const session_settings& with) {
    if (with.tls) {
      auto secured = net::tls_stream(socket_, with.tls, where.host);
      if (!secured) return fail(secured.error().message());
      stream_ = std::move(*secured);
    } else {
      stream_ = net::plain_stream(socket_);
    }
    for (auto got = progress::wants_read; got != progress::done;) {
      got = stream_->shake_hands();
      if (got == progress::ended) return fail(stream_->reason());
      if (got != progress::done && !wait(got == progress::wants_write ? POLLOUT : POLLIN)) return fail(late);
    }
  }
  bool wait(short what) const {
    const auto left = std::chrono::duration_cast<milliseconds>(end_ - clock::now()).count();
    pollfd one{socket_, what, 0};
    return left > 0 && ::poll(&one, 1, static_cast<int>(left)) > 0;
  }
  void connect(const endpoint& where) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int got = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &wanted, &found);
        got != 0)
      return fail(gai_strerror(got));
    int error = 0;
    for (auto* one = found; one != nullptr && socket_ < 0; one = one->ai_next) {
      socket_ = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      socklen_t size = sizeof error;
      error = 0;
      if (::connect(socket_, one->ai_addr, one->ai_addrlen) != 0) error = errno;
      if (error == EINPROGRESS) error = ETIMEDOUT;
      if (error == ETIMEDOUT && wait(POLLOUT)) ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0 && socket_ >= 0) ::close(std::exchange(socket_, -1));
    }
    ::freeaddrinfo(found);
    if (socket_ < 0) fail(std::generic_category().message(error));
  }

  const clock::time_point end_;
  int socket_ = -1;
  std::unique_ptr<net::stream> stream_;
  std::string wrong_;
};

std::string framed(std::string_view body) {
  std::string out;
  put_text(out, body);
  return out;
}

}  // namespace

bool spoken::refused() const { return text.find("not in the whitelist") != text.npos; }

std::optional<std::string> spoken::after(std::string_view key) const {
  auto at = text.find(key);
  while (at != text.npos && at > 0 && text[at - 1] != '\n') at = text.find(key, at + 1);
  if (at == text.npos) return {};
  at += key.size();
  return text.substr(at, text.find_first_of("\r\n", at) - at);
}

spoken ask_four_letters(const endpoint& where, const session_settings& with, std::string_view word) {
  dialogue with_it(where, with);
  with_it.say(word);
  spoken out;
  out.text = with_it.hear(std::size_t{1} << 20);
  out.wrong = with_it.wrong();
  if (out.text.empty() && out.wrong.empty()) out.wrong = "it says nothing";
  return out;
}

milliseconds shortest_session(const endpoint& where, const session_settings& with) {
  dialogue with_it(where, with);
  with_it.say(framed(greeting(0, 1, 0, {})));
  const auto head = with_it.hear(4 + 8);
  reader from(head);
  from.number();
  from.number();
  const milliseconds granted(from.number());
  if (!from.ok() || granted.count() <= 0) return milliseconds{0};
  std::string farewell;
  put_number(farewell, 1);
  with_it.say(framed(farewell + ask_close()));
  with_it.hear(std::size_t{1} << 10);  // until it has closed
  return granted;
}

}  // namespace interlock::inline v1::zookeeper_store
