// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <string>
#include <string_view>

namespace interlock::inline v1::postgres_store {

/// What the tables and functions are called.
struct object_names {
  std::string schema = "interlock";
  std::string table = "il";  ///< how their names begin: il_name, il_claim, il_ask...
};

/// Longer than PostgreSQL keeps, or impossible to write into the schema's text.
result<void> check_names(const object_names& names);

/// "a""b": how SQL writes a name that may contain anything.
std::string quoted(std::string_view name);

/// {schema} and {table_x} in a text, filled in.
std::string filled_in(std::string_view text, const object_names& names);

/// All that `interlock schema postgres` prints; harmless if run again.
std::string schema_text(const object_names& names);

/// The layout that this code speaks; written in the table of meta data.
inline constexpr int schema_version = 1;

}  // namespace interlock::inline v1::postgres_store
