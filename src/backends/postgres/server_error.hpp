// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"

#include <interlock/result.hpp>

#include <string_view>

namespace interlock::inline v1::postgres_store {

/// The five letters that tell what an error is; empty if there are none.
std::string_view sqlstate(const PGresult* said) noexcept;

/// Two transactions stood in each other's way and this one was rolled back: the same again may well succeed.
bool is_worth_a_retry(std::string_view state) noexcept;

/// What asked this server cannot be answered by it any more, but perhaps after connecting anew: it is a standby now,
/// it is stopping, our tables are gone.
bool ends_connection(std::string_view state) noexcept;

/// What an error means. The transaction was rolled back, so nothing has happened.
failure server_failure(std::string_view state, std::string_view text);
failure server_failure(const PGresult* said);

/// In one line, and not longer than a log wants it.
std::string tidy_text(std::string_view text);

}  // namespace interlock::inline v1::postgres_store
