// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::core {

/// The factory for a scheme, or an empty function.
backend_factory find_backend(std::string_view scheme);
/// For error messages: "memory, sqlite".
std::vector<std::string> known_schemes();

/// Of stores that keep tables: the statements that make them, for the names that the URL gives them.
using schema_factory = std::function<result<std::string>(const store_url&)>;
void register_schema(std::string_view scheme, schema_factory make);
/// Or an empty function.
schema_factory find_schema(std::string_view scheme);
std::vector<std::string> schemes_with_schema();

/// invalid_argument if the URL has an option that is neither the engine's own nor in `mine`.
result<void> check_options(const store_url& url, std::initializer_list<std::string_view> mine);

}  // namespace interlock::inline v1::core
