// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

comparison compare(const settings& with, const measure& floor, const measure& candidate) {
  comparison out;
  const int most_repeated = 3 * with.rounds;
  double before = floor();
  while (out.ratios.size() < static_cast<std::size_t>(with.rounds)) {
    const double mine = candidate();
    const double after = floor();
    const double lower = std::min(before, after), higher = std::max(before, after);
    const bool moved = higher > 1.15 * lower;
    before = after;
    if (moved && out.repeated < most_repeated) {
      ++out.repeated;
      continue;
    }
    out.noisy = out.noisy || moved;
    out.ratios.push_back(mine / ((lower + higher) / 2));
    out.floors.push_back((lower + higher) / 2);
    out.candidates.push_back(mine);
  }
  return out;
}

std::string comparison::sides() const {
  return other + " " + show_time(median(floors)) + ", interlock " + show_time(median(candidates));
}

figure comparison::filled(figure like, const std::vector<double>& rounds) const {
  like.value = median(rounds);
  like.low = *std::min_element(rounds.begin(), rounds.end());
  like.high = *std::max_element(rounds.begin(), rounds.end());
  like.note = sides() + (like.note.empty() ? "" : "; " + like.note);
  if (noisy) like.note += "; " + other + " kept moving by more than 15 %: not to be relied on";
  return like;
}

figure comparison::against(double bar, figure like) const {
  like.unit = "x";
  if (bar > 0) like.bar = bar;
  return filled(std::move(like), ratios);
}

figure comparison::of_candidate(figure like) const {
  like.unit = " us";
  auto rounds = candidates;
  for (auto& one : rounds) one *= 1e6;
  auto out = filled(std::move(like), rounds);
  const auto quietest = std::min_element(floors.begin(), floors.end()) - floors.begin();
  out.value = rounds[static_cast<std::size_t>(quietest)];
  out.note += "; " + other + " in the quietest round " + show_time(floors[static_cast<std::size_t>(quietest)]);
  return out;
}

}  // namespace bench
