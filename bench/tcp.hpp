// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

namespace bench {

/// A socket, closed with this object.
class tcp_socket {
 public:
  explicit tcp_socket(int fd = -1) noexcept : fd_(fd) {}
  tcp_socket(tcp_socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  tcp_socket& operator=(tcp_socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~tcp_socket();
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

/// To a port of this host, without waiting to fill packets. Throws.
tcp_socket connect_to(std::uint16_t port);
/// Whether somebody listens there.
bool answers(std::uint16_t port);

/// Listens on a free port of this host.
class listener {
 public:
  listener();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  [[nodiscard]] tcp_socket accept() const;

 private:
  tcp_socket socket_;
  std::uint16_t port_ = 0;
};

}  // namespace bench
