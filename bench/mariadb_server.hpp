// SPDX-License-Identifier: MIT
#pragma once

#include "machine.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace bench {

/// Why no MariaDB figure can be measured here; empty if one can.
std::string why_no_mariadb();

/// A MariaDB server of our own, set up as the package leaves it: commits wait for the disk. Gone with this object.
class mariadb_server {
 public:
  explicit mariadb_server(const std::string& folder);
  mariadb_server(const mariadb_server&) = delete;
  mariadb_server& operator=(const mariadb_server&) = delete;
  ~mariadb_server();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& query = {}) const {
    return "mysql://root@127.0.0.1:" + std::to_string(port_) + "/interlock" + (query.empty() ? "" : "?" + query);
  }

 private:
  scratch_folder folder_;
  std::uint16_t port_;
  pid_t process_ = 0;
};

}  // namespace bench
