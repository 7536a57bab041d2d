// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace interlock::test_support {

/// Each number has a secret of its own, always the same one.
inline claim_secret numbered_secret(std::uint32_t n) {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(n >> (8 * i));
  return claim_secret(bytes);
}

}  // namespace interlock::test_support
