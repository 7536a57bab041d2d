// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/error.hpp>

#include <string_view>

namespace interlock::inline v1::redis_store {

/// What a server's error means to a caller: "-NOPERM this user has no permissions ..." is `denied`, and so on.
failure server_failure(std::string_view error);

/// The error's first word: its code by convention.
constexpr std::string_view error_code(std::string_view error) noexcept { return error.substr(0, error.find(' ')); }

}  // namespace interlock::inline v1::redis_store
