// SPDX-License-Identifier: MIT
#pragma once

#include "net/stream.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace interlock::inline v1::etcd_store {

struct endpoint {
  std::string host{};
  std::uint16_t port = 2379;
  [[nodiscard]] std::string shown() const;
};

/// What an etcd URL says, checked.
struct etcd_settings {
  std::vector<endpoint> endpoints{};
  std::string prefix{};         ///< of every key: "" or "something/"
  bool keep_slashes = false;    ///< names keep their slashes, as names of other programs do
  milliseconds timeout{2'000};  ///< for one request
  milliseconds connect_timeout{2'000};
  std::string user{};
  std::function<std::string()> password{};
  std::shared_ptr<net::tls_context> tls{};  ///< unset: in the clear
};

result<etcd_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::etcd_store
