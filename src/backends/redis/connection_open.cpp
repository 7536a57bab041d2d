// SPDX-License-Identifier: MIT
#include "backends/redis/connection.hpp"
#include "backends/redis/info.hpp"
#include "backends/redis/server_error.hpp"

#include "net/shared_core.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <system_error>

/// How a connection comes up: addresses, TCP, TLS, greetings.
namespace interlock::inline v1::redis_store {
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

address unix_address(const std::string& path) {
  address out;
  auto& local = reinterpret_cast<sockaddr_un&>(out.bytes);
  if (path.size() >= sizeof local.sun_path) return out;
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.data(), path.size());
  out.size = sizeof local;
  return out;
}

void set(int socket, int level, int option, int value) { ::setsockopt(socket, level, option, &value, sizeof value); }

// "7.0.15" -> 70015
int version_number(std::string_view text) {
  int out = 0;
  for (int part = 0; part < 3; ++part) {
    int number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong != std::errc{}) number = 0;
    out = out * 100 + std::min(number, 99);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('.')) text.remove_prefix(1);
  }
  return out;
}

}  // namespace

void connection::open() {
  give_up_ = time_.now() + settings_.connect_timeout;
  {
    const std::lock_guard lock(mutex_);
    state_ = state::connecting;
    watch_deadline();
  }
  if (!where_.path.empty())
    return loop_.post([self = shared_from_this()] { self->resolved(std::vector{self->where_.path}); });
  lookup_.start(where_.host, loop_, [weak = weak_from_this()](const result<std::vector<std::string>>& found) {
    if (const auto self = weak.lock()) self->resolved(found);
  });
}

void connection::resolved(const result<std::vector<std::string>>& addresses) {
  const std::lock_guard lock(reading_);
  if (state_.load() == state::dead) return;
  if (!addresses) return drop(addresses.error(), true);
  addresses_ = *addresses;
  try_address();
}

// [reading_]
void connection::try_address() {
  std::string wrong = "no address";
  while (next_address_ < addresses_.size()) {
    const auto& text = addresses_[next_address_++];
    const auto to = where_.path.empty() ? tcp_address(text, where_.port) : unix_address(text);
    if (to.size == 0) {
      wrong = "the path of a unix socket is too long";
      continue;
    }
    const int made = ::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
      wrong = std::generic_category().message(errno);
      continue;
    }
    if (where_.path.empty()) {
      const auto timeout = static_cast<int>(settings_.timeout.count());
      set(made, IPPROTO_TCP, TCP_NODELAY, 1);
      set(made, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout);
      set(made, SOL_SOCKET, SO_KEEPALIVE, 1);
      set(made, IPPROTO_TCP, TCP_KEEPIDLE, 15);
      set(made, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    }
    if (::connect(made, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0 || errno == EINPROGRESS)
      return adopt(made);
    wrong = std::generic_category().message(errno);
    ::close(made);
  }
  drop(lost(last_wrong_.empty() ? wrong : last_wrong_), true);
}

// [reading_] Watches the socket through a gate of its own, for good.
void connection::adopt(int made) {
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
  in_gate_ = true;
}

void connection::turn() noexcept {
  if (is_up()) {
    const std::lock_guard inner(mutex_);
    if ((watched_ & EPOLLOUT) != 0) flush_locked();
    if (borrowed_) return;
  }
  // Somebody is reading, perhaps for long: then what there is to read is not for us.
  const std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock) return;
  switch (state_.load()) {
    case state::idle:
    case state::dead: return;
    case state::connecting: return connected();
    case state::shaking_hands: return shake_hands();
    case state::greeting:
    case state::up: break;
  }
  {
    const std::lock_guard inner(mutex_);
    if ((watched_ & EPOLLOUT) != 0) flush_locked();
    if (borrowed_) return;
  }
  read(reading::all);
}

// [reading_]
void connection::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    last_wrong_ = std::generic_category().message(error);
    return try_address();
  }
  same_host_ = net::stays_on_host(socket_);
  if (settings_.tls) {
    auto made = net::tls_stream(socket_, settings_.tls, where_.host);
    if (!made) return drop(made.error(), true);
    stream_ = std::move(*made);
  } else {
    stream_ = net::plain_stream(socket_);
  }
  state_ = state::shaking_hands;
  shake_hands();
}

// [reading_]
void connection::shake_hands() {
  const auto got = stream_->shake_hands();
  if (got == net::stream::progress::ended) return drop(lost(stream_->reason()), true);
  if (got != net::stream::progress::done) {
    const std::lock_guard lock(mutex_);
    return watch_in(got == net::stream::progress::wants_write ? unsigned{EPOLLOUT} : unsigned{EPOLLIN});
  }
  {
    const std::lock_guard lock(mutex_);
    state_ = state::greeting;
    watch_in(EPOLLIN);
  }
  greet();
}

// [reading_] A command of our own, before anybody else's.
void connection::say(const packet& what, reply_handler done) {
  const std::lock_guard lock(mutex_);
  out_.push({.sent = time_.now()}, what.bytes(), std::move(done));
}

// [reading_]
void connection::greet() {
  std::string password;
  try {
    if (settings_.password) password = settings_.password();
  } catch (const std::exception& wrong) {
    return drop(failure(errc::denied, where_.shown() + ": no password: " + wrong.what()), true);
  }
  const std::string user = settings_.user.empty() ? "default" : settings_.user;
  const bool known = !password.empty() || !settings_.user.empty();
  const auto answer = [this](const result<reply>& got) { greeted(got); };
  if (settings_.protocol == 3 && !old_) {
    known ? say(packet({"HELLO", "3", "AUTH", user, password}), answer) : say(packet({"HELLO", "3"}), answer);
  } else if (known) {
    settings_.user.empty() ? say(packet({"AUTH", password}), answer) : say(packet({"AUTH", user, password}), answer);
  } else {
    say(packet({"PING"}), answer);
  }
  flush();
}

// [reading_]
void connection::greeted(const result<reply>& hello) {
  const bool three = settings_.protocol == 3 && !old_;
  if (!hello) {
    if (three && hello.error().kind() != errc::denied && is_too_old(hello.error().message())) {
      old_ = true;
      return greet();
    }
    const bool asks = hello.error().message().find("NOAUTH") != std::string::npos;
    return drop(failure(hello.error().kind(), where_.shown() + ": " + hello.error().message() +
                                                  (asks ? "; the URL needs user and password" : "")),
                true);
  }
  std::string role;
  const bool fits = three ? hello->size() >= 2 : hello->is() == reply::kind::text;
  if (!fits) return drop(lost("it does not greet as Redis does"), true);
  if (three) {
    facts_.resp3 = true;
    for (std::size_t i = 0; i + 1 < hello->size(); i += 2) {
      const auto name = (*hello)[i].text();
      const auto value = (*hello)[i + 1].text();
      if (name == "version") facts_.version = value;
      if (name == "mode") facts_.mode = value;
      if (name == "role") role = value;
      if (name == "id") facts_.client = (*hello)[i + 1].number();
    }
  }
  if (settings_.database != 0)
    say(packet({"SELECT", std::to_string(settings_.database)}), [this](const result<reply>& got) {
      if (!got) drop(failure(errc::invalid_argument, where_.shown() + ": " + got.error().message()), true);
    });
  if (!three) {
    say(packet({"INFO", "replication"}), [this](const result<reply>& got) { check_role(got); });
    say(packet({"CLIENT", "ID"}), [this](const result<reply>& got) {
      if (got) facts_.client = got->number();
    });
  }
  say(packet({"INFO", "server"}), [this](const result<reply>& got) { learn(got); });
  if (!role.empty() && role != "master" && !settings_.replica_is_fine) return drop(replica_failure(), true);
}

bool connection::is_too_old(std::string_view error) {
  return error.find("unknown command") != error.npos || error.find("NOPROTO") != error.npos;
}

failure connection::replica_failure() const {
  return failure(errc::unavailable, where_.shown() + ": this server is a replica; give the master's address, or "
                                                     "redis+sentinel:// or redis+cluster:// to have it found");
}

void connection::check_role(const result<reply>& info) {
  if (info && info_field(info->text(), "role") == "slave" && !settings_.replica_is_fine) drop(replica_failure(), true);
}

// [mutex_] Before anybody can send anything. Numbers are only unique in one run of the server: after a restart they
// would be strangers'. Who may not do this relies on what scripts remember.
void connection::end_forerunners() {
  if (facts_.run_id.empty() || facts_.run_id != forerunners_.run_id()) return;
  for (const auto client : forerunners_.clients())
    out_.push({.sent = time_.now()}, packet({"CLIENT", "KILL", "ID", std::to_string(client)}).bytes(),
              [](const result<reply>&) {});
}

void connection::forerunners::add(const server_facts& was_up) {
  constexpr std::size_t most = 4;  // more break one after another only if none of them was of any use
  if (was_up.run_id != run_id_) clients_.clear();
  run_id_ = was_up.run_id;
  if (was_up.client != 0) clients_.push_back(was_up.client);
  if (clients_.size() > most) clients_.erase(clients_.begin());
}

// [reading_]
void connection::learn(const result<reply>& info) {
  if (state_.load() == state::dead) return;
  server_facts found;
  {
    const std::lock_guard lock(mutex_);
    if (info) {
      facts_.run_id = info_field(info->text(), "run_id");
      if (facts_.version.empty()) facts_.version = info_field(info->text(), "redis_version");
      if (facts_.mode.empty()) facts_.mode = info_field(info->text(), "redis_mode");
    }
    facts_.version_number = version_number(facts_.version);
    facts_.sharded_pubsub = facts_.version_number >= 70000;
    found = facts_;
    end_forerunners();
    state_.store(state::up, std::memory_order_release);
  }
  if (!muted_.load()) owner_.up(*this, found);
}

}  // namespace interlock::inline v1::redis_store
