// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/cells.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace interlock::inline v1::core {

/// What to do about a cell that was just read.
struct cell_verdict {
  enum class kind : std::uint8_t { finish, write, wait };
  kind is = kind::wait;
  result<std::uint32_t> answer = 0U;  ///< finish: the outcome; write: the outcome if it could be written
  std::string value{};                ///< write

  static cell_verdict finish(result<std::uint32_t> with) { return {kind::finish, std::move(with), {}}; }
  static cell_verdict write(std::string value, std::uint32_t answer) { return {kind::write, answer, std::move(value)}; }
  static cell_verdict wait() { return {}; }
};
/// Pure: it is asked again whenever the cell was read again.
using cell_rule = std::function<cell_verdict(const cell& found)>;

/// What one participant believes about a latch.
struct latch_terms {
  std::string name{};
  std::uint32_t count = 0;
  bool counts_only = false;  ///< another library's: the cell says what is left, and what is not there is open
};

/// Answers what is left after it.
cell_rule count_down_rule(latch_terms terms, std::uint32_t by);
/// Waits for it to be open; answers 0.
cell_rule wait_rule(latch_terms terms);
/// Answers what is left now.
cell_rule left_rule(latch_terms terms);
/// Answers 1 if it was not there and now is, 0 if it was there.
cell_rule create_rule(latch_terms terms);
/// Back to the full count; answers that.
cell_rule reset_rule(latch_terms terms);

}  // namespace interlock::inline v1::core
