// SPDX-License-Identifier: MIT
#pragma once

#include "testing/fault_link.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace interlock::inline v1::testing {

/// Makes a scheme of its own for `link` and returns `url` with it: a client connected there reaches its store only
/// through the link. For one client.
std::string url_through(const std::shared_ptr<fault_link>& link, std::string_view url);

}  // namespace interlock::inline v1::testing
