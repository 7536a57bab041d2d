// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace interlock::inline v1::sqlite_store {

/// How long to wait before asking again for the write lock: 50 us at first, then longer, at most 1 ms. Jittered, so
/// that two who met do not meet again.
class pause {
 public:
  std::chrono::microseconds next() noexcept {
    noise_ = noise_ * 6364136223846793005U + 1442695040888963407U;
    const auto most = limit_;
    limit_ = limit_ < 1000 ? limit_ * 2 : limit_;
    return std::chrono::microseconds(50 + (noise_ >> 33) % most);
  }
  void once() { std::this_thread::sleep_for(next()); }
  void restart() noexcept { limit_ = 50; }

 private:
  std::uint64_t noise_ = reinterpret_cast<std::uintptr_t>(this) ^
                         static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::uint64_t limit_ = 50;
};

}  // namespace interlock::inline v1::sqlite_store
