// SPDX-License-Identifier: MIT
#pragma once

#include "compare.hpp"
#include "machine.hpp"

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

}  // namespace bench
