// SPDX-License-Identifier: MIT
#include "support/zookeeper_peek.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace interlock::test_support {
namespace {

constexpr int no_node = -101;

template <class N>
void put(std::string& to, N value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8)
    to += static_cast<char>(static_cast<std::uint64_t>(value) >> shift);
}
void put(std::string& to, const std::string& text) {
  put(to, static_cast<std::int32_t>(text.size()));
  to += text;
}

template <class N>
N take(std::string_view& from) {
  if (from.size() < sizeof(N)) throw std::runtime_error("zookeeper: a short answer");
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof(N); ++i) out = out << 8 | static_cast<unsigned char>(from[i]);
  from.remove_prefix(sizeof(N));
  return static_cast<N>(out);
}
std::string take_text(std::string_view& from) {
  const auto size = take<std::int32_t>(from);
  if (size <= 0) return {};
  std::string out(from.substr(0, static_cast<std::size_t>(size)));
  from.remove_prefix(out.size());
  return out;
}

std::runtime_error refused(const std::string& what, int error) {
  return std::runtime_error("zookeeper: " + what + ": error " + std::to_string(error));
}

}  // namespace

int connect_to_zookeeper(int port, int patience_ms) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = patience_ms / 1'000, .tv_usec = patience_ms % 1'000 * 1'000};
  ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const int on = 1;
  ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (made < 0 || ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (made >= 0) ::close(made);
    throw std::runtime_error("zookeeper on port " + std::to_string(port) + ": " +
                             std::generic_category().message(error));
  }
  return made;
}

zookeeper_peek::zookeeper_peek(int port, std::int64_t session, std::string_view password)
    : socket_(connect_to_zookeeper(port)) {
  std::string hello;
  put(hello, std::int32_t{0});
  put(hello, std::int64_t{0});
  put(hello, std::int32_t{10'000});
  put(hello, session);
  put(hello, password.empty() ? std::string(16, '\0') : std::string(password));
  hello += '\0';
  try {
    send(hello);
    const auto reply = receive();
    std::string_view rest(reply);
    take<std::int32_t>(rest);
    timeout_ = take<std::int32_t>(rest);
    session_ = take<std::int64_t>(rest);
    password_ = take_text(rest);
    if (timeout_ <= 0) throw std::runtime_error("zookeeper: that session is over");
  } catch (...) {
    ::close(socket_);
    throw;
  }
}

zookeeper_peek::~zookeeper_peek() {
  if (socket_ >= 0) close_session();
}

void zookeeper_peek::send(const std::string& frame) const {
  std::string whole;
  put(whole, frame);
  if (::send(socket_, whole.data(), whole.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(whole.size()))
    throw std::runtime_error("zookeeper: cannot send");
}

std::string zookeeper_peek::receive() const {
  const auto exactly = [&](std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t got = 0; got < size;) {
      const auto more = ::recv(socket_, out.data() + got, size - got, 0);
      if (more <= 0) throw std::runtime_error("zookeeper: the connection ended");
      got += static_cast<std::size_t>(more);
    }
    return out;
  };
  const auto head = exactly(4);
  std::string_view rest(head);
  return exactly(take<std::uint32_t>(rest));
}

zookeeper_peek::answer zookeeper_peek::ask(std::int32_t kind, const std::string& body) {
  std::string frame;
  put(frame, ++number_);
  put(frame, kind);
  send(frame + body);
  for (;;) {
    const auto reply = receive();
    std::string_view rest(reply);
    const auto number = take<std::int32_t>(rest);
    take<std::int64_t>(rest);
    const auto error = take<std::int32_t>(rest);
    if (number == number_) return {error, std::string(rest)};
  }
}

std::optional<std::vector<std::string>> zookeeper_peek::children(const std::string& path) {
  std::string body;
  put(body, path);
  ask(9, body);  // a follower may be behind
  const auto got = ask(8, body + '\0');
  if (got.error == no_node) return {};
  if (got.error != 0) throw refused("listing " + path, got.error);
  std::string_view rest(got.body);
  std::vector<std::string> out;
  for (auto left = take<std::int32_t>(rest); left > 0; --left) out.push_back(take_text(rest));
  return out;
}

std::optional<zookeeper_peek::node> zookeeper_peek::read(const std::string& path) {
  std::string body;
  put(body, path);
  ask(9, body);
  const auto got = ask(4, body + '\0');
  if (got.error == no_node) return {};
  if (got.error != 0) throw refused("reading " + path, got.error);
  std::string_view rest(got.body);
  node out;
  out.data = take_text(rest);
  out.czxid = take<std::int64_t>(rest);
  rest.remove_prefix(8 + 8 + 8 + 4 + 4 + 4);
  out.owner = take<std::int64_t>(rest);
  take<std::int32_t>(rest);
  out.children = take<std::int32_t>(rest);
  return out;
}

std::string zookeeper_peek::create(const std::string& path, const std::string& data, int flags) {
  std::string body;
  put(body, path);
  put(body, data);
  put(body, std::int32_t{1});
  put(body, std::int32_t{31});
  put(body, std::string("world"));
  put(body, std::string("anyone"));
  put(body, std::int32_t{flags});
  const auto got = ask(flags == 4 ? 19 : 1, body);
  if (got.error != 0) throw refused("making " + path, got.error);
  std::string_view rest(got.body);
  return take_text(rest);
}

void zookeeper_peek::write(const std::string& path, const std::string& data) {
  std::string body;
  put(body, path);
  put(body, data);
  put(body, std::int32_t{-1});
  if (const auto got = ask(5, body); got.error != 0) throw refused("writing " + path, got.error);
}

bool zookeeper_peek::remove(const std::string& path) {
  std::string body;
  put(body, path);
  put(body, std::int32_t{-1});
  const auto got = ask(2, body);
  if (got.error != 0 && got.error != no_node) throw refused("removing " + path, got.error);
  return got.error == 0;
}

void zookeeper_peek::remove_tree(const std::string& path) {
  for (const auto& child : children(path).value_or(std::vector<std::string>{})) remove_tree(path + "/" + child);
  remove(path);
}

void zookeeper_peek::close_session() {
  try {
    ask(-11, {});
  } catch (const std::runtime_error&) {  // the server may close the connection in place of an answer
  }
  ::close(std::exchange(socket_, -1));
}

std::string zookeeper_says(int port, std::string_view word) {
  const int made = connect_to_zookeeper(port, 500);  // a server that is just starting accepts, and may never answer
  std::string out;
  if (::send(made, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(made, buffer, sizeof buffer, 0)) > 0;)
      out.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(made);
  return out;
}

}  // namespace interlock::test_support
