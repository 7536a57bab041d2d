// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace interlock::cli {

/// The well-formed UTF-8 sequence at the front of a text that is not empty; size 0 if there is none.
struct glyph {
  std::size_t size;
  std::uint32_t point;
};

inline glyph first_glyph(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {0, 0};
  std::uint32_t point = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {0, 0};
    point = (point << 6U) | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {0, 0};
  return {size, point};
}

}  // namespace interlock::cli
