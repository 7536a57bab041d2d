// SPDX-License-Identifier: MIT
#include "backends/zookeeper/link.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

/// How a link comes up: addresses, TCP, TLS, the greeting.
namespace interlock::inline v1::zookeeper_store {
namespace {

struct address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

address tcp_address(const std::string& host, std::uint16_t port) {
  address out;
  auto& four = reinterpret_cast<sockaddr_in&>(out.bytes);
  auto& six = reinterpret_cast<sockaddr_in6&>(out.bytes);
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    out.size = sizeof four;
  } else if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    out.size = sizeof six;
  }
  return out;
}

}  // namespace

void link::open(std::string greeting) {
  greeting_ = std::move(greeting);
  {
    const std::lock_guard lock(mutex_);
    state_ = state::connecting;
  }
  lookup_.start(where_.host, loop_, [weak = weak_from_this()](const result<std::vector<std::string>>& found) {
    if (const auto self = weak.lock()) self->resolved(found);
  });
}

void link::resolved(const result<std::vector<std::string>>& addresses) {
  const std::lock_guard lock(reading_);
  if (state_.load() == state::dead) return;
  if (!addresses) return drop(addresses.error(), true);
  addresses_ = *addresses;
  try_address();
}

// [reading_]
void link::try_address() {
  std::string wrong = "no address";
  while (next_address_ < addresses_.size()) {
    const auto to = tcp_address(addresses_[next_address_++], where_.port);
    const int made = to.size == 0 ? -1 : ::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
      wrong = std::generic_category().message(errno);
      continue;
    }
    const int on = 1;
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(made, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0 || errno == EINPROGRESS)
      return adopt(made);
    wrong = std::generic_category().message(errno);
    ::close(made);
  }
  drop(lost(last_wrong_.empty() ? wrong : last_wrong_), true);
}

// [reading_] Watches the socket through a gate of its own, for good.
void link::adopt(int made) {
  const std::lock_guard lock(mutex_);
  if (gate_ < 0) {
    gate_ = ::epoll_create1(EPOLL_CLOEXEC);
    watch_ = loop_.when_readable(gate_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->turn();
    });
  }
  if (socket_ >= 0) ::close(socket_);  // which takes it out of the gate
  socket_ = made;
  watched_ = EPOLLOUT;
  epoll_event what{.events = watched_, .data = {}};
  ::epoll_ctl(gate_, EPOLL_CTL_ADD, socket_, &what);
}

// On the loop: the gate is open and something can be done.
void link::turn() noexcept {
  const std::lock_guard lock(reading_);
  const auto now = state_.load();
  if (now == state::dead) return;
  if (now == state::connecting) return connected();
  if (now == state::shaking_hands) return shake_hands();
  bool readable = true;
  {
    const std::lock_guard inner(mutex_);
    if (borrowed_) readable = false;
    if ((watched_ & EPOLLOUT) != 0) flush_locked();
  }
  if (readable) read(false);
}

// [reading_]
void link::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    last_wrong_ = std::generic_category().message(error);
    return try_address();
  }
  std::unique_ptr<net::stream> made;
  if (tls_) {
    auto secured = net::tls_stream(socket_, tls_, where_.host);
    if (!secured) return drop(secured.error(), true);
    made = std::move(*secured);
  } else {
    made = net::plain_stream(socket_);
  }
  {
    const std::lock_guard lock(mutex_);
    stream_ = std::move(made);
    state_ = state::shaking_hands;
  }
  shake_hands();
}

// [reading_]
void link::shake_hands() {
  using progress = net::stream::progress;
  const auto got = stream_->shake_hands();
  if (got == progress::ended) return drop(lost(stream_->reason()), true);
  if (got == progress::done) return greet();
  const std::lock_guard lock(mutex_);
  watch_in(got == progress::wants_write ? unsigned{EPOLLOUT} : unsigned{EPOLLIN});
}

// [reading_]
void link::greet() {
  const std::lock_guard lock(mutex_);
  state_ = state::greeting;
  put_number(out_, static_cast<std::int32_t>(greeting_.size()));
  out_ += greeting_;
  flush_locked();
  watch_in((watched_ & ~unsigned{EPOLLOUT}) | EPOLLIN | (out_sent_ < out_.size() ? unsigned{EPOLLOUT} : 0U));
}

}  // namespace interlock::inline v1::zookeeper_store
