// SPDX-License-Identifier: MIT
#include <interlock/clock.hpp>

#include <ctime>

namespace interlock::inline v1 {

boot_clock::time_point boot_clock::now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

const time_source& real_time() noexcept {
  struct source final : time_source {
    [[nodiscard]] instant now() const noexcept override { return boot_clock::now(); }
  };
  static const auto* one = new source;  // never destroyed: a client may still be closing while the program exits
  return *one;
}

}  // namespace interlock::inline v1
