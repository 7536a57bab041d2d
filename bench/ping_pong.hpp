// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace bench {

/// Two threads that do nothing but wake each other: a word says whose turn it is, and who waits sleeps on it in the
/// kernel. `turns` counts one-way wake-ups; there and back again is two.
class futex_ping_pong {
 public:
  futex_ping_pong();
  futex_ping_pong(const futex_ping_pong&) = delete;
  futex_ping_pong& operator=(const futex_ping_pong&) = delete;
  ~futex_ping_pong();
  [[nodiscard]] const std::atomic<std::uint64_t>& turns() const { return turns_; }

 private:
  void play(std::uint32_t me);
  std::atomic<std::uint32_t> turn_{0};
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> over_{false};
  std::thread one_, two_;
};

}  // namespace bench
