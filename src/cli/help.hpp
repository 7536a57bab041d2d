// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"

#include <string_view>

namespace interlock::cli {

/// What `interlock` alone, `interlock help` and `interlock --help` print.
std::string_view help_overview() noexcept;
/// What `interlock help VERB` and `interlock VERB --help` print: a synopsis, then examples that work as they stand.
std::string_view help_for(verb which) noexcept;

}  // namespace interlock::cli
