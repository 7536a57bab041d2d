// SPDX-License-Identifier: MIT
#pragma once

#include "net/stream.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace interlock::inline v1::memcached_store {

struct memcached_settings {
  std::string host{};
  std::uint16_t port = 11211;
  std::string path{};  ///< of a unix socket, instead
  std::string user{};
  std::function<std::string()> password{};
  std::shared_ptr<net::tls_context> tls{};  ///< unset: no TLS
  bool tooz = false;                        ///< layout=tooz: items as OpenStack's tooz has them
  milliseconds timeout{1'000};              ///< of one answer
  milliseconds connect_timeout{3'000};      ///< until it can be used
  [[nodiscard]] std::string shown() const { return path.empty() ? host + ":" + std::to_string(port) : path; }
};

result<memcached_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::memcached_store
