// SPDX-License-Identifier: MIT
#include "tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bench {
namespace {

int checked(int got, const char* doing) {
  if (got < 0) throw std::system_error(errno, std::generic_category(), doing);
  return got;
}

sockaddr_in here(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

tcp_socket fresh() { return tcp_socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")); }

int connect(const tcp_socket& made, std::uint16_t port) {
  const int one = 1;
  ::setsockopt(made.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const auto to = here(port);
  return ::connect(made.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

}  // namespace

tcp_socket::~tcp_socket() {
  if (fd_ >= 0) ::close(fd_);
}

tcp_socket connect_to(std::uint16_t port) {
  auto made = fresh();
  checked(connect(made, port), "connect");
  return made;
}

bool answers(std::uint16_t port) { return connect(fresh(), port) == 0; }

listener::listener() : socket_(fresh()) {
  auto at = here(0);
  socklen_t size = sizeof at;
  checked(::bind(fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at), "bind");
  checked(::listen(fd(), 64), "listen");
  checked(::getsockname(fd(), reinterpret_cast<sockaddr*>(&at), &size), "getsockname");
  port_ = ntohs(at.sin_port);
}

tcp_socket listener::accept() const {
  tcp_socket got(checked(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
  const int one = 1;
  ::setsockopt(got.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return got;
}

}  // namespace bench
