// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/connection.hpp"

#include <interlock/backend.hpp>

#include <string>
#include <vector>

namespace interlock::inline v1::redis_store {

enum class deployment : std::uint8_t { single, sentinel, cluster };

/// What a Redis URL says, checked.
struct redis_settings {
  deployment is = deployment::single;
  std::vector<endpoint> endpoints{};  ///< of the server, or of sentinels, or of some nodes of the cluster
  std::string master{};               ///< the name sentinels know it by
  std::string layout = "native";
  int replicas = 0;  ///< how many must have confirmed a grant
  milliseconds replica_patience{500};
  connection_settings connection{};
  connection_settings to_sentinels{};  ///< the same, but for user and password if they have their own
};

/// Something in the URL is wrong.
failure bad(const std::string& text);

result<redis_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::redis_store
