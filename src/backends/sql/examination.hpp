// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <interlock/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// What `interlock doctor` asks of every database, and how it judges what they say alike.
namespace interlock::inline v1::sql {

using checks = std::vector<store_check>;

/// The one row that a statement of an examination returns.
struct findings {
  const rows* row = nullptr;
  [[nodiscard]] std::string text(std::size_t column) const { return std::string(row->field(0, column)); }
  [[nodiscard]] double number(std::size_t column) const;
  [[nodiscard]] bool yes(std::size_t column) const { return text(column) == "t"; }
};

/// Asks this, and judges the row that comes.
std::shared_ptr<errand> examine(std::string text, std::function<checks(const findings&)> judge,
                                completion<checks> done);

/// `theirs`: seconds since 1970.
store_check check_clock(double theirs);
store_check check_way(bool by_socket, bool encrypted);
/// `left`: connections that the server would still take.
store_check check_room(long left);
/// `ended`: claims whose lease was over more than an hour ago. `if_large`: what to look at then.
store_check check_tables(double bytes, long ended, const char* if_large);
/// Of locks that belong to sessions.
store_check check_sessions();

}  // namespace interlock::inline v1::sql
