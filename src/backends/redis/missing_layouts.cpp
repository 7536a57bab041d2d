// SPDX-License-Identifier: MIT
#include "backends/redis/layout.hpp"

namespace interlock::inline v1::redis_store {

result<std::unique_ptr<layout>> make_plain_layout(const layout_environment&) {
  return failure(errc::unsupported, "redis: this build has no plain layout");
}

}  // namespace interlock::inline v1::redis_store
