// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <interlock/result.hpp>

#include <string>
#include <string_view>

namespace interlock::inline v1::mysql_store {

/// Numbers of errors, as servers and Connector/C have them.
/// https://mariadb.com/kb/en/mariadb-error-code-reference/
enum error_number : unsigned {
  no_such_database = 1049,
  no_such_table = 1146,
  no_such_procedure = 1305,
  no_right_to_use_database = 1044,
  no_right_to_create = 1142,
  no_right_to_create_routine = 1370,
  unknown_variable = 1193,
};

/// Connector/C's own errors: there is no server behind them any more.
constexpr bool is_of_the_client(unsigned number) noexcept { return number >= 2000 && number < 3000; }

/// What an error of the server means. Its transaction was rolled back.
failure server_failure(unsigned number, std::string_view text);
sql::refusal refusal_of(unsigned number, std::string_view text);

/// In one line, and not longer than a log wants it.
std::string tidy_text(std::string_view text);

}  // namespace interlock::inline v1::mysql_store
