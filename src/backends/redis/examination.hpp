// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"
#include "backends/redis/settings.hpp"

#include <memory>
#include <string>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Looks at how every master is set up: what a restart, a fail-over or a full memory would do to locks.
void examine(std::shared_ptr<courier> way, const redis_settings& settings, completion<std::vector<store_check>> done);

/// The warnings among them, in one sentence: why not to rely on this store alone. Empty if there are none.
std::string weak_points(const std::vector<store_check>& checks);

}  // namespace interlock::inline v1::redis_store
