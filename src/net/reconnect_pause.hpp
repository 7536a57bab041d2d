// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>
#include <interlock/options.hpp>

#include <algorithm>
#include <chrono>

namespace interlock::inline v1::net {

/// Before connecting again after so many failures: longer each time, up to a second or so. `chance`, from 0 to 1, keeps
/// clients that lost the same server from coming back at the same moment.
inline milliseconds reconnect_pause(unsigned failures, double chance, milliseconds first = milliseconds{10}) {
  constexpr milliseconds longest{1'000};
  const auto base = std::min(first * (1 << std::min(failures, 7U)), longest);
  return std::chrono::duration_cast<milliseconds>(base * (0.5 + chance));
}

}  // namespace interlock::inline v1::net
