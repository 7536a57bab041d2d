// SPDX-License-Identifier: MIT
#pragma once

#include "cli/descriptor.hpp"

#include <interlock/clock.hpp>

#include <optional>

namespace interlock::cli {

/// An alarm on the boot clock, readable when it is due. poll's own timeout stops while the host sleeps, leases do not.
class timer {
 public:
  timer();
  /// Unset: never. What is past rings at once.
  void set(std::optional<instant> when) noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  descriptor fd_;
};

}  // namespace interlock::cli
