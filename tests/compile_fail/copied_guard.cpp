// SPDX-License-Identifier: MIT
// expect: deleted
#include <interlock/guard.hpp>

#include <utility>

// Two copies would release one lock twice.
interlock::guard hand_over(interlock::guard& held) {
#ifdef MISUSE
  return interlock::guard{held};
#else
  return interlock::guard{std::move(held)};
#endif
}
