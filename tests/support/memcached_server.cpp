// SPDX-License-Identifier: MIT
#include "support/memcached_server.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace interlock::test_support {

memcached_server::memcached_server(std::vector<std::string> options)
    : options_(std::move(options)), place_("127.0.0.1:" + std::to_string(port())), process_("memcached") {
  start();
}

memcached_server::memcached_server(const certificate* shown)
    : options_{"-Z", "-o", "ssl_chain_cert=" + shown->file.string() + ",ssl_key=" + shown->key.string()},
      place_("notls:127.0.0.1:" + std::to_string(port()) + ",127.0.0.1:" + std::to_string(tls_port_.number())),
      process_("memcached") {
  start();
}

void memcached_server::start() {
  std::vector<std::string> words{"-u", "nobody", "-l", place_, "-U", "0", "-m", "16"};
  words.insert(words.end(), options_.begin(), options_.end());
  process_.start(std::move(words));
  process_.await("ready", [&] { return ask("").empty(); });
}

void memcached_server::restart() {
  kill();
  start();
}

std::string memcached_server::url_at(int port, const std::string& query) {
  return "memcached://127.0.0.1:" + std::to_string(port) + (query.empty() ? "" : "?" + query);
}

std::string memcached_server::tls_url(const std::string& query) const {
  return "memcacheds://127.0.0.1:" + std::to_string(tls_port_.number()) + "?" + query;
}

std::string memcached_server::ask(const std::string& commands) const {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto text = commands + "mn\r\n";
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    close(fd);
    throw std::runtime_error("no connection to memcached");
  }
  std::string out;
  std::array<char, 4096> room{};
  while (!out.ends_with("MN\r\n")) {
    const auto got = recv(fd, room.data(), room.size(), 0);
    if (got <= 0) break;
    out.append(room.data(), static_cast<std::size_t>(got));
    if (out.starts_with("CLIENT_ERROR unauth")) return close(fd), std::string{};  // it is up, and wants a password
  }
  close(fd);
  if (!out.ends_with("MN\r\n")) throw std::runtime_error("memcached says nothing");
  return out.substr(0, out.size() - 4);
}

std::optional<std::string> memcached_server::item(const std::string& name) const {
  const auto said = ask("mg ilk1ln:" + name + " v\r\n");
  if (!said.starts_with("VA ")) return {};
  return said.substr(said.find("\r\n") + 2);
}

}  // namespace interlock::test_support
