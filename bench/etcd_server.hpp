// SPDX-License-Identifier: MIT
#pragma once

#include "machine.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// Why no etcd figure can be measured here; empty if one can.
std::string why_no_etcd();

/// One etcd member of our own. Gone with this object.
class etcd_server {
 public:
  /// On a disk etcd waits for it with every change, as it comes; in memory there is nothing to wait for, and what a
  /// client costs can be seen.
  enum class keeps : std::uint8_t { on_disk, in_memory };
  etcd_server(const std::string& folder, keeps where, std::optional<unsigned> core = {});
  etcd_server(const etcd_server&) = delete;
  etcd_server& operator=(const etcd_server&) = delete;
  ~etcd_server();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string url() const { return "etcd://" + address(); }

  /// The sum of the server's own counters (/metrics) whose names, labels included, have all of these words in them.
  [[nodiscard]] double counted(std::initializer_list<std::string_view> words) const;

 private:
  scratch_folder folder_;
  std::uint16_t port_, peers_;
  pid_t process_ = 0;
};

}  // namespace bench
