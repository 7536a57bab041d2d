// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// A byte as a percent sign and two digits, the way URLs have it; each store decides which bytes are written so.
namespace interlock::inline v1::core {

inline constexpr std::string_view percent_digits = "0123456789ABCDEF";

inline void append_percent(std::string& to, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  to += '%';
  to += percent_digits[value >> 4];
  to += percent_digits[value & 15];
}

/// The byte that the two digits behind a percent sign stand for; nothing if they are not two such digits.
inline std::optional<char> from_percent(std::string_view two) noexcept {
  if (two.size() != 2) return {};
  const auto high = percent_digits.find(two[0]), low = percent_digits.find(two[1]);
  if (high == percent_digits.npos || low == percent_digits.npos) return {};
  return static_cast<char>(high * 16 + low);
}

}  // namespace interlock::inline v1::core
