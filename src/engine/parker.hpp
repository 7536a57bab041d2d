// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace interlock::inline v1::runtime {

/// Where one thread sleeps until somebody unparks it. Wake-ups may be spurious: check the condition yourself.
///
/// Parkers are never freed (they are reused by later threads), so unparking is safe even if the sleeper has gone on and
/// its thread has ended in the meantime.
class parker {
 public:
  static parker& of_this_thread();

  /// The ticket to hand to park(): taken before the condition is checked.
  [[nodiscard]] std::uint32_t ticket() const noexcept { return word_.load(std::memory_order_acquire); }
  /// Sleeps unless somebody has unparked since the ticket was taken.
  void park(std::uint32_t ticket) noexcept;
  /// Also wakes when `fd` is readable; true: it was. Costs more to be unparked from than park().
  bool park_beside(int fd, std::uint32_t ticket, int most_milliseconds = -1) noexcept;
  void unpark() noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> polling_{false};
  int bell_ = -1;  // an eventfd, made when first needed
};

}  // namespace interlock::inline v1::runtime
