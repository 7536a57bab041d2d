// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/info.hpp>
#include <interlock/result.hpp>

#include <string>
#include <string_view>

namespace interlock::inline v1::core {

/// A name that every store can carry: 1 to `longest` bytes of UTF-8, no control characters, no `.` or `..` between
/// slashes. One rule for all stores, so that moving to another store never breaks a name.
result<void> check_name(std::string_view name, std::size_t longest);

/// For messages: quoted, shortened, control bytes escaped.
std::string shown_name(std::string_view name);

}  // namespace interlock::inline v1::core
