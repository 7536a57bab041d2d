// SPDX-License-Identifier: MIT
#include "support/reserved_port.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace interlock::test_support {
namespace {

constexpr int lowest = 10'000;

// Below the ports that the kernel hands out to clients: otherwise somebody's outgoing connection could sit on our port
// while its server is down, and a client that reconnects there could even meet itself.
int highest() {
  int first_for_clients = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_for_clients;
  return first_for_clients > lowest + 1'000 ? std::min(first_for_clients, 65'536) - 1 : 32'767;
}

// A name that the kernel keeps for one process at a time and frees with it; nothing of it is left in a file system.
int claim(int port) {
  const auto name = "interlock-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool nobody_listens(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool free = fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (fd >= 0) close(fd);
  return free;
}

}  // namespace

reserved_port::reserved_port() {
  std::random_device random;
  std::uniform_int_distribution<int> any(lowest, highest());
  for (int tries = 0; tries < 1'000; ++tries) {
    number_ = any(random);
    claim_ = claim(number_);
    if (claim_ < 0) continue;
    if (nobody_listens(number_)) return;
    close(std::exchange(claim_, -1));
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

reserved_port::reserved_port(reserved_port&& other) noexcept
    : number_(other.number_), claim_(std::exchange(other.claim_, -1)) {}

reserved_port& reserved_port::operator=(reserved_port&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(claim_, other.claim_);
  return *this;
}

reserved_port::~reserved_port() {
  if (claim_ >= 0) close(claim_);
}

}  // namespace interlock::test_support
