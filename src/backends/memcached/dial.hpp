// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/settings.hpp"

#include "net/dial.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <string>

namespace interlock::inline v1::memcached_store {

/// A socket that has been greeted, and what the server says of itself (`stats`).
struct established : net::established {
  std::map<std::string, std::string, std::less<>> stats{};
};

/// Makes a connection. Blocks: looking up a host's name cannot be told to wait elsewhere.
result<established> dial(const memcached_settings& to, const std::atomic<bool>& cancelled);

}  // namespace interlock::inline v1::memcached_store
