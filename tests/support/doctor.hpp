// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <ostream>
#include <string>

namespace interlock::test_support {

/// What `interlock doctor` says about one thing, as a line: "warn: no replicas".
inline std::string diagnosis(const client& locks, const std::string& check) {
  for (const auto& one : locks.examine()) {
    if (one.check != check) continue;
    const bool ok = one.is == store_check::verdict::ok, warn = one.is == store_check::verdict::warn;
    return (ok ? "ok: " : warn ? "warn: " : "fail: ") + one.seen;
  }
  return "no such check";
}
inline std::string diagnosis(const std::string& url, const std::string& check) { return diagnosis(client(url), check); }

/// What it says is to be done about that.
inline std::string advice(const client& locks, const std::string& check) {
  for (const auto& one : locks.examine())
    if (one.check == check) return one.advice;
  return "no such check";
}

}  // namespace interlock::test_support
