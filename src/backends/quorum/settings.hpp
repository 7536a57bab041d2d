// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/settings.hpp"
#include "core/quorum_machine.hpp"

#include <interlock/backend.hpp>

#include <string>
#include <vector>

namespace interlock::inline v1::quorum_store {

/// What a redlock:// or redis+dual:// URL says, checked.
struct quorum_settings {
  struct server {
    store_url url{};  ///< of this node alone, as the Redis store knows it
    redis_store::redis_settings redis{};
  };
  std::vector<server> servers{};
  core::quorum_rules rules{};
  std::string layout = "plain";
  milliseconds restart_delay{};  ///< a node that was restarted without its memory does not count for so long
};

result<quorum_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::quorum_store
