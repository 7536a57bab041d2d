// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/token.hpp>

#include <cstdint>

namespace interlock::inline v1 {

/// The largest token there is: tokens fit BIGINT and Java's long.
inline constexpr std::uint64_t last_token = (std::uint64_t{1} << 63) - 1;

/// Could a store have given this out?
constexpr bool is_token(fencing_token token) noexcept { return token.value() >= 1 && token.value() <= last_token; }

}  // namespace interlock::inline v1
