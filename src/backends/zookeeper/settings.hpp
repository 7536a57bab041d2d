// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/recipe.hpp"
#include "backends/zookeeper/requests.hpp"
#include "backends/zookeeper/session.hpp"

#include <interlock/backend.hpp>

#include <string>

namespace interlock::inline v1::zookeeper_store {

struct zookeeper_settings {
  session_settings common{};
  std::string root{};  ///< "/chroot", or empty
  const recipe* how = &curator_mutex;
  rights whose = rights::anyone;
  milliseconds lease{30'000};  ///< what most claims will ask for
};

result<zookeeper_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::zookeeper_store
