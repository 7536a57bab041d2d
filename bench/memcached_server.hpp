// SPDX-License-Identifier: MIT
#pragma once

#include "machine.hpp"
#include "tcp.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

/// Why no Memcached figure can be measured here; empty if one can.
std::string why_no_memcached();

/// A memcached of our own, gone with this object.
class memcached_server {
 public:
  explicit memcached_server(const std::string& folder, std::optional<unsigned> core = {});
  memcached_server(const memcached_server&) = delete;
  memcached_server& operator=(const memcached_server&) = delete;
  ~memcached_server();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "memcached://127.0.0.1:" + std::to_string(port_); }

 private:
  scratch_folder folder_;
  std::uint16_t port_;
  pid_t process_ = 0;
};

/// The floor: a blocking socket, the meta commands of an owner-safe lock with a token, and the fewest instructions that
/// find an answer's end.
class raw_memcached {
 public:
  explicit raw_memcached(std::uint16_t port);

  /// Makes an item if there is none, and counts.
  [[nodiscard]] static std::string acquire(const std::string& name);
  /// Removes it if it is still the same.
  [[nodiscard]] static std::string release(const std::string& name, std::string_view cas);

  void send(std::string_view bytes);
  /// The number in the answer to acquire, until the next call.
  std::string_view acquired();
  void released();
  [[nodiscard]] bool more_is_here() const { return begin_ < end_; }

 private:
  std::string_view line();

  tcp_socket socket_;
  std::string in_;
  std::size_t begin_ = 0, end_ = 0;
  std::string cas_;
};

}  // namespace bench
