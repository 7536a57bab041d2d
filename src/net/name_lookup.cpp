// SPDX-License-Identifier: MIT
#include "net/name_lookup.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <utility>

namespace interlock::inline v1::net {
namespace {

bool is_address(const std::string& host) {
  unsigned char room[16];
  return inet_pton(AF_INET, host.c_str(), room) == 1 || inet_pton(AF_INET6, host.c_str(), room) == 1;
}

// Blocks.
result<std::vector<std::string>> ask_system(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int wrong = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found); wrong != 0)
    return failure(errc::unavailable, "the host name " + host + " could not be looked up: " + gai_strerror(wrong));
  std::vector<std::string> out;
  for (auto* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  ::freeaddrinfo(found);
  return out;
}

}  // namespace

void name_lookup::start(const std::string& host, reactor& loop, unique_function<void(addresses)> done) {
  if (is_address(host)) return away_.answer(loop, std::vector<std::string>{host}, std::move(done));
  away_.start(
      "interlock-names", loop, [host](const std::atomic<bool>&) { return ask_system(host); }, std::move(done));
}

}  // namespace interlock::inline v1::net
