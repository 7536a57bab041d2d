// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <interlock/backend.hpp>

#include <string>
#include <string_view>

/// Who holds what, as the lock tables of a database have it.
namespace interlock::inline v1::sql {

/// Names from this one on, before that one (empty: to the end), and how many of them.
struct survey_range {
  std::string from{}, before{};
  std::size_t most = 0;
};
survey_range range_of(const survey_query& what);

/// One row for each claim: name, capacity, secret, held, shared, weight, token, tokens, age, lease left, origin;
/// numbers and yes or no (1 or 0) as text, spans in milliseconds. One name more than `most` means that there are more.
survey_page read_page(const rows& all, std::size_t most);

/// pid, host, program, purpose, a line each; and back.
std::string write_origin(const claim_origin& from);
claim_origin read_origin(std::string_view text);

}  // namespace interlock::inline v1::sql
