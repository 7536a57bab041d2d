// SPDX-License-Identifier: MIT
#include "cli/timer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/timerfd.h>

namespace interlock::cli {

timer::timer() : fd_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (fd_.get() < 0) throw std::system_error(errno, std::generic_category(), "timerfd");
}

void timer::set(std::optional<instant> when) noexcept {
  itimerspec spec{};
  if (when) {
    const auto ticks = std::max<std::int64_t>(when->time_since_epoch().count(), 1);  // all zero would disarm it
    spec.it_value = {ticks / 1'000'000'000, ticks % 1'000'000'000};
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace interlock::cli
