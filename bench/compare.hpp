// SPDX-License-Identifier: MIT
#pragma once

#include "report.hpp"
#include "settings.hpp"

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One measurement: what one unit of work cost.
using measure = std::function<double()>;

/// Floor and candidate in turn, so that whatever else the machine does falls on both.
struct comparison {
  std::string other = "floor";  ///< what it is called in the table
  std::vector<double> ratios{}, floors{}, candidates{};
  int repeated = 0;    ///< rounds thrown away because the floor moved under them
  bool noisy = false;  ///< it went on moving, and rounds were taken all the same

  /// The median round, with the spread, in `like`'s words.
  [[nodiscard]] figure against(double bar, figure like) const;
  /// The candidate's own figure in microseconds, with the spread: for bars that are no ratios, where nothing makes up
  /// for what the host does meanwhile. So the round counts in which the floor took least.
  [[nodiscard]] figure of_candidate(figure like) const;
  /// "floor 3.1 us, interlock 4.0 us".
  [[nodiscard]] std::string sides() const;

 private:
  [[nodiscard]] figure filled(figure like, const std::vector<double>& rounds) const;
};

/// floor, candidate, floor, candidate, ..., floor. A round whose two floors differ by more than 15 % is done again, at
/// most three times as many as were asked for in all.
comparison compare(const settings& with, const measure& floor, const measure& candidate);

double median(std::vector<double> values);

}  // namespace bench
