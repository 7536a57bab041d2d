// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <functional>
#include <string>
#include <vector>

namespace interlock::inline v1::etcd_store {

/// What an etcd URL says, checked.
struct etcd_settings {
  std::vector<std::string> endpoints{};  ///< host:port
  std::string prefix{};                  ///< of every key: "" or "something/"
  bool keep_slashes = false;             ///< names keep their slashes, as names of other programs do
  milliseconds timeout{2'000};           ///< for one request
  milliseconds connect_timeout{2'000};
  std::string user{};
  std::function<std::string()> password{};
  bool tls = false;
  std::string tls_ca{}, tls_cert{}, tls_key{};  ///< PEM, not paths; the authority may be empty: the system's
};

result<etcd_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::etcd_store
