// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace interlock::inline v1::core {

/// Two digits for each byte.
template <std::size_t Bytes>
constexpr std::array<char, 2 * Bytes> hex_of(const std::array<std::byte, Bytes>& from) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, 2 * Bytes> out{};
  for (std::size_t i = 0; i < Bytes; ++i) {
    out[2 * i] = digits[std::to_integer<unsigned>(from[i]) >> 4];
    out[2 * i + 1] = digits[std::to_integer<unsigned>(from[i]) & 15];
  }
  return out;
}

}  // namespace interlock::inline v1::core
