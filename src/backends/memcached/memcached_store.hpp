// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::memcached_store {

/// memcached://user:password@host:11211, memcached:/path/of/socket
result<std::unique_ptr<backend>> open_memcached(const backend_environment& environment);

}  // namespace interlock::inline v1::memcached_store
