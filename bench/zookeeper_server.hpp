// SPDX-License-Identifier: MIT
#pragma once

#include "machine.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// Why no ZooKeeper figure can be measured here; empty if one can.
std::string why_no_zookeeper();

/// One ZooKeeper server of our own, gone with this object. Its log is in memory: a change waits for the disk as long
/// for everybody, and it is what comes on top of that which is measured.
class zookeeper_server {
 public:
  /// On `core`, or where this process runs.
  explicit zookeeper_server(std::optional<unsigned> core = {});
  zookeeper_server(const zookeeper_server&) = delete;
  zookeeper_server& operator=(const zookeeper_server&) = delete;
  ~zookeeper_server();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "zk://127.0.0.1:" + std::to_string(port_) + "/locks"; }
  /// By its own account: requests it has been sent so far, pings included and this question left out.
  [[nodiscard]] double requests();

 private:
  [[nodiscard]] std::string says(const std::string& word) const;

  scratch_folder folder_;
  std::uint16_t port_;
  pid_t process_ = 0;
  int asked_ = 0;
};

}  // namespace bench
