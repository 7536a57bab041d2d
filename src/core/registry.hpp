// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::core {

/// The factory for a scheme, or an empty function.
backend_factory find_backend(std::string_view scheme);
/// For error messages: "memory, sqlite".
std::vector<std::string> known_schemes();

/// invalid_argument if the URL has an option that is neither the engine's own nor in `mine`.
result<void> check_options(const store_url& url, std::initializer_list<std::string_view> mine);

}  // namespace interlock::inline v1::core
