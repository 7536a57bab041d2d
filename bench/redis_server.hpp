// SPDX-License-Identifier: MIT
#pragma once

#include "machine.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// Why no Redis figure can be measured here; empty if one can.
std::string why_no_redis();

/// A redis-server of our own, with nothing in it, that keeps nothing. Gone with this object.
class redis_server {
 public:
  /// In `folder`; on `core`, or where this process runs.
  explicit redis_server(const std::string& folder, std::optional<unsigned> core = {});
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server();

  void freeze() const;  ///< to its clients it looks like a silent network
  void thaw() const;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& options = {}) const;

 private:
  scratch_folder folder_;
  std::uint16_t port_;
  pid_t process_ = 0;
};

}  // namespace bench
