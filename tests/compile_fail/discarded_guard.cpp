// SPDX-License-Identifier: MIT
// expect: nodiscard
#include <interlock/client.hpp>

// A guard that nobody keeps would be released before the next line runs.
void reserve(const interlock::client& locks) {
#ifdef MISUSE
  locks.acquire("orders/42");
#else
  auto held = locks.acquire("orders/42");
#endif
}
