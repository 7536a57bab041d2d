// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <concepts>
#include <stdexcept>
#include <string>
#include <thread>

namespace interlock::test_support {

/// Asks again and again until the answer is yes; whether that came in time. What the condition throws counts as no: a
/// server that is just starting refuses connections.
template <std::predicate Condition>
[[nodiscard]] bool eventually(Condition&& condition, std::chrono::milliseconds within = std::chrono::seconds{30}) {
  const auto end = std::chrono::steady_clock::now() + within;
  for (;;) {
    try {
      if (condition()) return true;
    } catch (const std::runtime_error&) {
      if (std::chrono::steady_clock::now() > end) throw;  // says more than "no"
    }
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
}

/// The same, where a no is a broken test.
template <std::predicate Condition>
void await(const std::string& what, Condition&& condition,
           std::chrono::milliseconds within = std::chrono::seconds{30}) {
  if (!eventually(condition, within)) throw std::runtime_error("waited in vain until " + what);
}

}  // namespace interlock::test_support
