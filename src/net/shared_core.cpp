// SPDX-License-Identifier: MIT
#include "net/shared_core.hpp"

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <cstring>

namespace interlock::inline v1::net {
namespace {

bool same_host(const sockaddr_storage& one, const sockaddr_storage& other) noexcept {
  if (one.ss_family != other.ss_family) return false;
  const auto equal = [&]<class Address>(Address, auto member) {
    const auto& left = reinterpret_cast<const Address&>(one).*member;
    const auto& right = reinterpret_cast<const Address&>(other).*member;
    return std::memcmp(&left, &right, sizeof left) == 0;
  };
  if (one.ss_family == AF_INET) return equal(sockaddr_in{}, &sockaddr_in::sin_addr);
  return one.ss_family == AF_INET6 && equal(sockaddr_in6{}, &sockaddr_in6::sin6_addr);
}

}  // namespace

bool stays_on_host(int socket) noexcept {
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) == 0 && same_host(here, there);
}

// Within a host the sender's core carries a packet all the way to the receiver.
bool shares_core(int socket) noexcept {
  int core = -1;
  socklen_t size = sizeof core;
  return ::getsockopt(socket, SOL_SOCKET, SO_INCOMING_CPU, &core, &size) == 0 && core == ::sched_getcpu();
}

}  // namespace interlock::inline v1::net
