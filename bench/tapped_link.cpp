// SPDX-License-Identifier: MIT
#include "tapped_link.hpp"

#include "machine.hpp"
#include "raw_redis.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

namespace bench {
namespace {

constexpr double longest_sleep = 0.02;

timespec span(double seconds) {
  const auto whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

}  // namespace

tapped_link::tapped_link(std::uint16_t to, double delay) : to_(to), delay_(delay), thread_([this] { run(); }) {}

tapped_link::~tapped_link() {
  over_ = true;
  thread_.join();
}

std::string tapped_link::url(const std::string& options) const {
  return "redis://127.0.0.1:" + std::to_string(port()) + (options.empty() ? "" : "?" + options);
}

std::vector<tapped_link::request> tapped_link::heard() {
  const std::lock_guard lock(mutex_);
  return std::exchange(heard_, {});
}

void tapped_link::run() {
  std::vector<pollfd> all;
  while (!over_) {
    all.assign(1, {door_.fd(), POLLIN, 0});
    for (const auto& one : ends_) all.push_back({one.gone ? -1 : one.socket.fd(), POLLIN, 0});
    const double sleep = under_way_.empty() ? longest_sleep : std::max(0.0, under_way_.front().due - now());
    const auto most = span(std::min(sleep, longest_sleep));
    if (::ppoll(all.data(), all.size(), &most, nullptr) < 0) continue;
    deliver();
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].revents != 0) take(i - 1);
    if (all[0].revents != 0) welcome();
    deliver();
  }
}

void tapped_link::welcome() {
  ends_.push_back({door_.accept(), true});
  ends_.push_back({connect_to(to_), false});
}

void tapped_link::take(std::size_t from) {
  std::array<char, 1 << 16> room;
  const auto got = ::recv(ends_[from].socket.fd(), room.data(), room.size(), 0);
  const std::string_view bytes(room.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (bytes.empty()) ends_[from].gone = true;
  if (ends_[from].is_client) write_down(bytes);
  under_way_.push_back({now() + delay_, from ^ 1, std::string(bytes)});
}

void tapped_link::deliver() {
  while (!under_way_.empty() && under_way_.front().due <= now()) {
    const auto next = std::move(under_way_.front());
    under_way_.pop_front();
    const int to = ends_[next.to].socket.fd();
    if (next.bytes.empty()) ::shutdown(to, SHUT_WR);
    for (std::string_view rest = next.bytes; !rest.empty();) {
      const auto sent = ::send(to, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;  // it has gone
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
}

void tapped_link::write_down(std::string_view bytes) {
  unread_ += bytes;
  const std::lock_guard lock(mutex_);
  std::size_t begin = 0;
  while (const auto length = value_length(std::string_view(unread_).substr(begin))) {
    heard_.push_back({now(), unread_.substr(begin, length)});
    begin += length;
  }
  unread_.erase(0, begin);
}

}  // namespace bench
