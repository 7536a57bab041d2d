// SPDX-License-Identifier: MIT
// expect: nodiscard
#include <interlock/client.hpp>

// Without looking at the answer nobody knows whether the lock is held.
bool skip(const interlock::client& locks) {
#ifdef MISUSE
  locks.try_acquire("orders/42");
  return true;
#else
  return !locks.try_acquire("orders/42");
#endif
}
