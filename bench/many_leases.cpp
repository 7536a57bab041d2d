// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "heap.hpp"
#include "machine.hpp"

#include <interlock/client.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace bench {

// Two thirds of a lease are two renewals of every one of them.
void many_leases(const settings& with, report& out) {
  constexpr int count = 100'000;
  constexpr std::chrono::seconds lease{30};
  const double window = 20 * with.seconds;
  const interlock::client locks("memory:", {.lease = lease});
  std::vector<interlock::guard> held;
  held.reserve(count);
  double bytes = 0;
  {
    const heap_watch watch;
    for (int i = 0; i < count; ++i) held.push_back(locks.acquire("leases/" + std::to_string(i)));
    bytes = static_cast<double>(watch.growth()) / count;
  }
  out.add({.name = "many-leases/bytes",
           .what = "heap per held lease, its name included",
           .unit = " B",
           .value = bytes,
           .bar = 1024,
           .below = true});

  const double worked_before = processor_time(), before = now();
  sleep_for(window);
  const double took = now() - before, worked = processor_time() - worked_before;
  const auto valid = std::ranges::count_if(held, [](const interlock::guard& one) { return one.valid(); });
  if (valid != count) throw std::runtime_error(std::to_string(count - valid) + " leases were lost meanwhile");
  const auto least = std::ranges::min_element(held, {}, &interlock::guard::remaining)->remaining();
  out.add({.name = "many-leases/core",
           .what = "share of one core that renewing 100 000 leases of 30 s takes",
           .unit = " %",
           .value = 100 * worked / took,
           .bar = 5,
           .note = show_number(took) + " s; the oldest renewal leaves " + show_time(double(least.count()) / 1e3)});
}

}  // namespace bench
