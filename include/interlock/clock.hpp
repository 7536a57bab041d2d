// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace interlock::inline v1 {

/// Time since boot, running on while the host sleeps (CLOCK_BOOTTIME). Leases are counted on it; the wall clock never
/// decides anything. std::chrono::steady_clock would stop during suspend and believe a lease that is long over.
struct boot_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

using instant = boot_clock::time_point;

/// Where the time comes from; tests put a clock here that they move by hand.
class time_source {
 public:
  virtual ~time_source() = default;
  [[nodiscard]] virtual instant now() const noexcept = 0;
};

/// The real one.
const time_source& real_time() noexcept;

}  // namespace interlock::inline v1
