// SPDX-License-Identifier: MIT
#include "backends/redis/resolve.hpp"

#include <netdb.h>
#include <sys/socket.h>

// Alone in its file: a program that is linked statically cannot use the C library's resolver and brings its own.
namespace interlock::inline v1::redis_store {

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

}  // namespace interlock::inline v1::redis_store
