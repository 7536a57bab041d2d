// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/clocked_courier.hpp"

#include "backends/redis/server_error.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace interlock::test_support {

using namespace redis_store;

namespace {

int connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no connection to " + path);
  return fd;
}

std::string with_clock_key(std::string_view text) {
  constexpr std::string_view clock = "call('TIME')", ours = "call('LRANGE', 'clock', 0, 1)";
  std::string out(text);
  const auto at = out.find(clock);
  if (at != out.npos) out.replace(at, clock.size(), ours);
  if (out.find(clock) != out.npos) throw std::runtime_error("a script reads the clock twice");
  return out;
}

}  // namespace

struct clocked_courier::changed_script {
  explicit changed_script(std::string_view from) : text(with_clock_key(from)), made(text) {}
  std::string text;
  script made;
};

clocked_courier::clocked_courier(const redis_server& server)
    : control_(server.connect()), ears_(server.connect()), fd_(connected_to(server.socket())) {}

clocked_courier::~clocked_courier() { ::close(fd_); }

void clocked_courier::set_clock(std::chrono::microseconds since_1970) {
  const auto all = since_1970.count();
  control_.send({"DEL", "clock"});
  control_.send({"RPUSH", "clock", std::to_string(all / 1'000'000), std::to_string(all % 1'000'000)});
  control_.receive();
  control_.receive();
}

const script& clocked_courier::with_own_clock(const script& from) {
  auto& one = changed_[&from];
  if (!one) one = std::make_unique<changed_script>(from.text);
  return one->made;
}

void clocked_courier::send(const packet& what, inline_work, reply_handler&& done) {
  const std::string text =
      what.called() == nullptr ? std::string(what.bytes()) : with_text(what.bytes(), with_own_clock(*what.called()));
  for (std::size_t sent = 0; sent < text.size();) {
    const auto count = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0) throw std::runtime_error("cannot send");
    sent += static_cast<std::size_t>(count);
  }
  std::string got;
  std::array<char, 16384> some{};
  reply_parser parser;
  while (parser.parse(got) != reply_parser::outcome::complete) {
    const auto count = ::recv(fd_, some.data(), some.size(), 0);
    if (count <= 0) throw std::runtime_error("the server has gone");
    got.append(some.data(), static_cast<std::size_t>(count));
  }
  if (parser.value().is() == reply::kind::error) return done(server_failure(parser.value().text()));
  done(parser.value());
}

void clocked_courier::subscribe(std::string_view channel, reply_handler done) {
  ears_.ask({"SUBSCRIBE", std::string(channel)});
  listening_ = true;
  done(reply{});
}

void clocked_courier::deliver_news() {
  if (!listening_) return;
  ears_.send({"PING"});
  for (auto one = ears_.receive(); !(one[0] == "pong"); one = ears_.receive())
    if (one[0] == "message" && reader_ != nullptr) reader_->message(one[1].text, one[2].text);
}

}  // namespace interlock::test_support

#endif
