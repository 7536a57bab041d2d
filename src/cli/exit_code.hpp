// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/error.hpp>

namespace interlock::cli {

/// The command's own exit codes, from sysexits.h where it has the word; scripts rely on them.
enum exit_code : int {
  exit_ok = 0,
  exit_nothing = 1,  ///< break: it was gone already; any verb: its output could not be written
  exit_usage = 64,
  exit_unavailable = 69,
  exit_busy = 75,
  exit_lost = 76,
  exit_not_executable = 126,
  exit_not_found = 127,
};

/// Busy and lost are answers of their own; everything a store could not or would not do is "unavailable".
constexpr exit_code exit_code_of(errc kind) noexcept {
  switch (kind) {
    case errc::busy: return exit_busy;
    case errc::lost: return exit_lost;
    case errc::invalid_argument: return exit_usage;
    default: return exit_unavailable;
  }
}

}  // namespace interlock::cli
