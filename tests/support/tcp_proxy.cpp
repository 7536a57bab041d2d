// SPDX-License-Identifier: MIT
#include "support/tcp_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace interlock::test_support {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_chunks = 256;  // under way in one direction; then the sender has to wait

int must(int outcome, const char* what) {
  if (outcome < 0) throw std::system_error(errno, std::generic_category(), what);
  return outcome;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

// Over loopback this succeeds or is refused at once.
int connected_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto address = loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
    close(fd);
    return -1;
  }
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  return fd;
}

void close_socket(int fd, bool hard) {
  const linger at_once{1, 0};  // RST instead of FIN
  if (hard) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
}

}  // namespace

tcp_proxy::tcp_proxy(int server_port, std::chrono::milliseconds patience)
    : server_port_(server_port), patience_(patience), wake_(must(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
  listen();
  thread_ = std::thread([this] { run(); });
}

tcp_proxy::~tcp_proxy() {
  on_thread([this] { stop_ = true; });
  thread_.join();
  for (auto& one : links_) finish(one, false);
  if (listener_ >= 0) close(listener_);
  close(wake_);
}

void tcp_proxy::listen() {
  listener_ = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
  set(listener_, SOL_SOCKET, SO_REUSEADDR, 1);
  const auto address = loopback(port());
  must(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind the proxy");
  must(::listen(listener_, 512), "listen");
}

// --- what tests say -------------------------------------------------------------------------------------------------

void tcp_proxy::on_thread(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  commands_.push_back(std::move(work));
  const auto mine = ++commands_given_;
  eventfd_write(wake_, 1);
  done_.wait(lock, [&] { return commands_done_ >= mine; });
}

void tcp_proxy::run_commands() {
  const std::lock_guard lock(mutex_);
  eventfd_t ignored = 0;
  eventfd_read(wake_, &ignored);
  for (; !commands_.empty(); commands_.pop_front(), ++commands_done_) commands_.front()();
  done_.notify_all();
}

void tcp_proxy::delay(std::chrono::milliseconds each_way) {
  on_thread([=, this] { delay_ = each_way; });
}
void tcp_proxy::cut() { roads(road::cut, road::cut); }
void tcp_proxy::cut_to_server() { roads(road::cut, road::open); }
void tcp_proxy::cut_to_client() { roads(road::open, road::cut); }
void tcp_proxy::hold() { roads(road::held, road::held); }
void tcp_proxy::strand() {
  on_thread([this] {
    for (auto& one : links_) one.stranded = true;
  });
}
void tcp_proxy::heal() { roads(road::open, road::open); }

void tcp_proxy::roads(road to_server, road to_client) {
  const auto becomes = [](way& along, road how) {
    if (how == road::cut && !along.queue.empty()) {
      along.queue.clear();
      along.holed = true;
    }
    return how != road::cut && along.holed;
  };
  on_thread([=, this] {
    to_server_ = to_server;
    to_client_ = to_client;
    for (auto& one : links_) {
      if (to_server == road::open) one.stranded = false;
      const bool up_broken = becomes(one.up, to_server), down_broken = becomes(one.down, to_client);
      if (up_broken || down_broken) finish(one, true);
    }
  });
}

void tcp_proxy::reset() {
  on_thread([this] {
    for (auto& one : links_) finish(one, true);
  });
}

void tcp_proxy::lose_next_reply() {
  on_thread([this] { lose_next_ = true; });
}

void tcp_proxy::accepting(bool yes) {
  on_thread([=, this] {
    if (yes && listener_ < 0) listen();
    if (!yes && listener_ >= 0) close(std::exchange(listener_, -1));
  });
}

tcp_proxy::traffic tcp_proxy::seen() {
  traffic out;
  on_thread([&] {
    out = seen_;
    out.open = links_.size();
  });
  return out;
}

// --- what the thread does -------------------------------------------------------------------------------------------

void tcp_proxy::run() {
  while (!stop_) {
    auto what = interests();
    wait(what);
    run_commands();
    accept_all();
    for (auto& one : links_) serve(one);
    links_.remove_if([](const link& one) { return one.over; });
  }
}

std::vector<pollfd> tcp_proxy::interests() const {
  const auto now = clock::now();
  const auto blocked = [&](const way& along, road how) {
    return how == road::open && !along.queue.empty() && along.queue.front().due <= now;
  };
  std::vector<pollfd> out{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  const auto add = [&](const way& from, bool writes) {
    const bool reads = !from.ended && from.queue.size() < most_chunks;
    const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
    if (events != 0) out.push_back({from.from, static_cast<short>(events), 0});  // else a hang-up would never rest
  };
  for (const auto& one : links_) {
    add(one.up, blocked(one.down, to_client_));
    add(one.down, blocked(one.up, up_road(one)));
  }
  return out;
}

void tcp_proxy::wait(std::vector<pollfd>& what) const {
  const auto now = clock::now();
  std::chrono::nanoseconds left = 1h;
  const auto consider = [&](const way& along, road how) {
    if (how != road::open || along.queue.empty() || along.queue.front().due <= now) return;
    left = std::min<std::chrono::nanoseconds>(left, along.queue.front().due - now);
  };
  for (const auto& one : links_) {
    consider(one.up, up_road(one));
    consider(one.down, to_client_);
  }
  const timespec time{left / 1s, (left % 1s).count()};
  ppoll(what.data(), what.size(), &time, nullptr);
}

void tcp_proxy::accept_all() {
  while (listener_ >= 0) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    ++seen_.connections;
    set(client, IPPROTO_TCP, TCP_NODELAY, 1);
    int server = connected_to(server_port_);
    for (const auto end = clock::now() + patience_; server < 0 && clock::now() < end;) {
      std::this_thread::sleep_for(5ms);
      server = connected_to(server_port_);
    }
    if (server < 0) {
      close_socket(client, true);
      continue;
    }
    auto& one = links_.emplace_back();
    one.up.from = one.down.to = client;
    one.down.from = one.up.to = server;
  }
}

void tcp_proxy::serve(link& one) {
  if (!one.over) take(one, one.up, up_road(one));
  if (!one.over) take(one, one.down, to_client_);
  if (!one.over) give(one, one.up, up_road(one));
  if (!one.over) give(one, one.down, to_client_);
}

void tcp_proxy::take(link& one, way& along, road how) {
  if (along.ended || along.queue.size() >= most_chunks) return;
  std::array<char, 65'536> some;  // NOLINT: not worth clearing each time
  const auto got = recv(along.from, some.data(), some.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  along.ended = bytes == 0;
  if (bytes > 0 && &along == &one.up) take_request(one, bytes);
  if (bytes > 0 && &along == &one.down && !take_reply(one, bytes)) return;
  if (how == road::cut) {
    along.holed = true;
  } else {
    along.queue.push_back({clock::now() + delay_, std::string(some.data(), bytes)});  // none: the end
  }
}

void tcp_proxy::take_request(link& one, std::size_t bytes) {
  seen_.to_server += bytes;
  if (std::exchange(one.server_spoke_last, false)) ++seen_.round_trips;
  if (std::exchange(lose_next_, false)) one.reply_is_doomed = true;
}

bool tcp_proxy::take_reply(link& one, std::size_t bytes) {
  seen_.to_client += bytes;
  one.server_spoke_last = true;
  if (!one.reply_is_doomed) return true;
  ++seen_.replies_lost;
  finish(one, false);
  return false;
}

void tcp_proxy::give(link& one, way& along, road how) {
  const auto now = clock::now();
  while (how == road::open && !along.queue.empty() && along.queue.front().due <= now) {
    auto& bytes = along.queue.front().bytes;
    if (bytes.empty()) return finish(one, false);
    const auto sent = send(along.to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // A receiver that is gone is noticed where its own bytes are taken.
    bytes.erase(0, sent < 0 ? bytes.size() : static_cast<std::size_t>(sent));
    if (bytes.empty()) along.queue.pop_front();
  }
}

void tcp_proxy::finish(link& one, bool hard) {
  if (std::exchange(one.over, true)) return;
  close_socket(one.up.from, hard);
  close_socket(one.down.from, hard);
}

}  // namespace interlock::test_support
