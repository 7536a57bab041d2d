// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace interlock::inline v1::sql {

/// What the tables and functions are called.
struct object_names {
  std::string schema = "interlock";
  std::string table = "il";  ///< how their names begin: il_name, il_claim, il_ask...
  char quote = '"';          ///< around names in the database's SQL
};

/// "a""b": how SQL writes a name that may contain anything.
std::string in_quotes(std::string_view name, char quote = '"');

/// {schema} and {table_x} in a text, filled in.
std::string filled_in(std::string_view text, const object_names& names);

}  // namespace interlock::inline v1::sql
