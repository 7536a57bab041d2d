// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/session_locks.hpp"
#include "backends/sql/way.hpp"

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::sql {

/// A store whose locks belong to sessions, connected. `traits`: what differs from one database to the next.
result<std::unique_ptr<backend>> open_sessions(const backend_environment& environment, const place& at,
                                               std::shared_ptr<dialler> by, std::unique_ptr<session_words> words,
                                               store_traits traits);

/// Why such locks are not strict.
inline constexpr const char* session_caveat =
    "locks of a session end with it, which the server may decide before the holder knows, and have no tokens";

}  // namespace interlock::inline v1::sql
