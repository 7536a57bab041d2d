// SPDX-License-Identifier: MIT
#include "support/redis_peek.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace interlock::test_support {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

const redis_value& redis_value::operator[](std::size_t index) const noexcept {
  static const redis_value nothing;
  return index < list.size() ? list[index] : nothing;
}

bool redis_value::has(std::string_view one) const noexcept {
  return std::any_of(list.begin(), list.end(), [&](const redis_value& item) { return item == one; });
}

std::ostream& operator<<(std::ostream& out, const redis_value& value) {
  switch (value.is) {
    case redis_value::kind::nil: return out << "nil";
    case redis_value::kind::number: return out << value.number;
    case redis_value::kind::text: return out << '"' << value.text << '"';
    case redis_value::kind::error: return out << "error: " << value.text;
    case redis_value::kind::list: break;
  }
  out << '[';
  for (std::size_t at = 0; at < value.size(); ++at) out << (at == 0 ? "" : ", ") << value[at];
  return out << ']';
}

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

template <class Address>
int connected(int family, const Address& address, const std::string& where) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  close(fd);
  throw std::system_error(error, std::generic_category(), "no connection to " + where);
}

}  // namespace

redis_peek::redis_peek(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto& name = socket.native();
  if (name.size() >= sizeof address.sun_path) throw std::runtime_error("too long for a socket's name: " + name);
  std::memcpy(address.sun_path, name.data(), name.size());
  fd_ = connected(AF_UNIX, address, name);
}

redis_peek::redis_peek(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fd_ = connected(AF_INET, address, "port " + std::to_string(port));
}

redis_peek::redis_peek(redis_peek&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), read_(std::move(other.read_)) {}

redis_peek::~redis_peek() {
  if (fd_ >= 0) close(fd_);
}

redis_value redis_peek::command(const words& what) {
  auto said = ask(what);
  if (said.error()) throw std::runtime_error(what.front() + ": " + said.text);
  return said;
}

redis_value redis_peek::ask(const words& what) {
  send(what);
  return receive();
}

void redis_peek::send(const words& what) const {
  auto text = "*" + std::to_string(what.size()) + "\r\n";
  for (const auto& word : what) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const auto count = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) fail("cannot send " + what.front());
    sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
}

redis_value redis_peek::receive(std::chrono::milliseconds within) {
  end_ = clock::now() + within;
  return value();
}

redis_value redis_peek::value() {
  using kind = redis_value::kind;
  const auto first = line();
  const auto rest = first.substr(1);
  redis_value out;
  switch (first.front()) {
    case '+': out.is = kind::text, out.text = rest; break;
    case '-': out.is = kind::error, out.text = rest; break;
    case ':': out.is = kind::number, out.number = std::stoll(rest); break;
    case '$':
      if (rest == "-1") break;
      out.is = kind::text, out.text = bytes(std::stoull(rest));
      bytes(2);
      break;
    case '*':
      if (rest == "-1") break;
      out.is = kind::list, out.list.resize(std::stoull(rest));
      for (auto& item : out.list) item = value();
      break;
    default: throw std::runtime_error("this is not RESP2: " + first);
  }
  return out;
}

std::string redis_peek::line() {
  auto at = read_.find("\r\n");
  for (; at == std::string::npos || at == 0; at = read_.find("\r\n")) {
    if (at == 0) throw std::runtime_error("an empty line from the server");
    more();
  }
  auto out = bytes(at);
  bytes(2);
  return out;
}

std::string redis_peek::bytes(std::size_t count) {
  while (read_.size() < count) more();
  auto out = read_.substr(0, count);
  read_.erase(0, count);
  return out;
}

void redis_peek::more() {
  const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(end_ - clock::now()), 0ms);
  pollfd ready{fd_, POLLIN, 0};
  const int count = poll(&ready, 1, static_cast<int>(left.count()));
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) throw std::runtime_error("the server says nothing");
  std::array<char, 16'384> some{};
  const auto got = recv(fd_, some.data(), some.size(), 0);
  if (got <= 0) throw std::runtime_error("the server has closed the connection");
  read_.append(some.data(), static_cast<std::size_t>(got));
}

}  // namespace interlock::test_support
