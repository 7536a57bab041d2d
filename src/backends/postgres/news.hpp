// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <string_view>

namespace interlock::inline v1::postgres_store {

/// Hands on what the lock tables' functions notify: `g id token tokens shared behind seq`, or `e id`. Anybody may have
/// sent it; what is not understood is dropped.
void deliver(std::string_view text, backend_events& to) noexcept;

}  // namespace interlock::inline v1::postgres_store
