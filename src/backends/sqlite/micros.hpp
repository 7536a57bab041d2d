// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>

#include <cstdint>

namespace interlock::inline v1::sqlite_store {

// Instants in the file: microseconds of the boot clock. What protects a holder is rounded up.

constexpr std::int64_t micros_up(instant when) noexcept {
  return std::chrono::ceil<std::chrono::microseconds>(when.time_since_epoch()).count();
}
constexpr std::int64_t micros_down(instant when) noexcept {
  return std::chrono::floor<std::chrono::microseconds>(when.time_since_epoch()).count();
}
constexpr instant from_micros(std::int64_t count) noexcept { return instant(std::chrono::microseconds(count)); }

}  // namespace interlock::inline v1::sqlite_store
