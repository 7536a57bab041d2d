// SPDX-License-Identifier: MIT
#pragma once

#include "machine.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace bench {

/// Why no PostgreSQL figure can be measured here; empty if one can.
std::string why_no_postgres();

/// A PostgreSQL server of our own, set up as the package leaves it: commits wait for the disk. Gone with this object.
class postgres_server {
 public:
  explicit postgres_server(const std::string& folder);
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;
  ~postgres_server();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return url_at(port_); }
  [[nodiscard]] static std::string url_at(std::uint16_t port);
  /// For libpq.
  [[nodiscard]] std::string conninfo() const;

 private:
  scratch_folder folder_;
  std::uint16_t port_;
  pid_t process_ = 0;
};

}  // namespace bench
