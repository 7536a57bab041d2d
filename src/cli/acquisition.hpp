// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"
#include "cli/signals.hpp"
#include "cli/status_lines.hpp"

#include <interlock/client.hpp>

#include <variant>

namespace interlock::cli {

/// A signal that ended the wait; nothing is left in the store.
struct interrupted {
  int signal;
};
using acquisition = std::variant<guard, failure, interrupted>;

/// Takes the lock the arguments ask for, queueing as long as they say, and listening to signals meanwhile.
acquisition acquire(const client& locks, const arguments& got, signals& caught, status_lines& status);

}  // namespace interlock::cli
