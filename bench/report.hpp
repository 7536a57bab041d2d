// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// One line of the table.
struct figure {
  std::string name{};  ///< of the case, and of this figure in it: "thread-handoff/memory"
  std::string what{};  ///< in words
  std::string unit{};  ///< "x" for a ratio
  double value = 0;
  std::optional<double> low{}, high{};  ///< of the rounds
  std::optional<double> bar{};          ///< at most this; unset: for information
  bool below = false;                   ///< the bar itself is already too much
  std::string note{};                   ///< absolute figures, and what a reader should know
  std::string skipped{};                ///< why it was not measured; then nothing above counts
  bool failed = false;                  ///< it should have been

  [[nodiscard]] bool met() const { return !bar || (below ? value < *bar : value <= *bar); }
  [[nodiscard]] std::string_view verdict() const;
};

/// Prints figures as they come, as a table for people or, at the end, as JSON for programs.
class report {
 public:
  explicit report(bool json) : json_(json) {}
  void add(figure one);
  void skip(std::string name, std::string why);
  void fail(std::string name, std::string why);
  /// Whether every bar that was measured was met, and nothing failed.
  [[nodiscard]] bool good() const;
  void finish() const;

 private:
  bool json_;
  std::vector<figure> all_;
};

/// "31.4 us", "2.10 ms".
std::string show_time(double seconds);
/// With about three digits that matter.
std::string show_number(double value);

}  // namespace bench
