// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::redis_store {

/// redis://, rediss://, redis+unix://, redis+sentinel://, redis+cluster://
result<std::unique_ptr<backend>> open_redis(const backend_environment& environment);

}  // namespace interlock::inline v1::redis_store
