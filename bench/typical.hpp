// SPDX-License-Identifier: MIT
#pragma once

#include "compare.hpp"
#include "machine.hpp"
#include "settings.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

/// Seconds that `work` takes typically: the median, because what happens once in some thousand times is not what a
/// caller waits for.
template <class Work>
double typical(double seconds, Work work) {
  std::vector<double> each;
  each.reserve(std::size_t{1} << 16);
  for (const double end = now() + seconds; now() < end;) {
    const double before = now();
    work();
    each.push_back(now() - before);
  }
  return median(std::move(each));
}

/// compare() for work of some microseconds: in each round the two take turns every few milliseconds, so that whatever
/// the host does meanwhile, for a second or for ten milliseconds, falls on both.
template <class Floor, class Candidate>
comparison compare_closely(const settings& with, Floor floor, Candidate candidate) {
  constexpr int turn = 32;
  std::vector<double> floors, candidates;
  const auto go = [](std::vector<double>& each, auto& work) {
    for (int i = 0; i < turn; ++i) {
      const double before = now();
      work();
      each.push_back(now() - before);
    }
  };
  comparison out;
  for (int round = 0; round < with.rounds; ++round) {
    floors.clear();
    candidates.clear();
    for (const double end = now() + 2 * with.seconds; now() < end;) {
      go(floors, floor);
      go(candidates, candidate);
    }
    out.floors.push_back(median(floors));
    out.candidates.push_back(median(candidates));
    out.ratios.push_back(out.candidates.back() / out.floors.back());
  }
  return out;
}

}  // namespace bench
