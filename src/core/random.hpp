// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace interlock::inline v1::core {

/// Where secrets and jitter come from; tests put a predictable one here.
class random_source {
 public:
  virtual ~random_source() = default;
  virtual claim_secret secret() = 0;
  /// Uniform in [0, 1).
  virtual double fraction() noexcept = 0;
};

/// From the kernel, drawn in blocks so that an acquisition costs no system call for it. One thread at a time.
class kernel_random final : public random_source {
 public:
  claim_secret secret() override;
  double fraction() noexcept override;

 private:
  std::array<std::byte, 16> draw();
  std::array<std::byte, 1024> block_{};
  std::size_t used_ = sizeof block_;
  std::uint64_t jitter_ = 0;
};

}  // namespace interlock::inline v1::core
