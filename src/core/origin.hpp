// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <string_view>

namespace interlock::inline v1::core {

/// This host, process and program, for people who look at a lock.
claim_origin own_origin(std::string_view purpose);

}  // namespace interlock::inline v1::core
