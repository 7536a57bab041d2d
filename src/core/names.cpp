// SPDX-License-Identifier: MIT
#include "core/names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace interlock::inline v1::core {
namespace {

// The length of the well-formed UTF-8 sequence at the front; nothing if there is none (overlong, surrogate, cut off).
std::optional<std::size_t> sequence(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t size = 0;
  std::uint32_t point = 0;
  if (first >= 0xc2 && first <= 0xdf)
    size = 2, point = first & 0x1f;
  else if (first >= 0xe0 && first <= 0xef)
    size = 3, point = first & 0x0f;
  else if (first >= 0xf0 && first <= 0xf4)
    size = 4, point = first & 0x07;
  else
    return {};
  if (text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = (point << 6) | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return size;
}

// Made of bytes that cannot make a name wrong, wherever they stand.
constexpr auto ordinary = [] {
  std::array<bool, 256> out{};
  for (std::size_t c = 0x20; c < 0x7f; ++c) out[c] = c != '.';
  return out;
}();
bool all_ordinary(std::string_view name) noexcept {
  bool out = true;
  for (const char c : name) out &= ordinary[static_cast<unsigned char>(c)];
  return out;
}

failure bad(std::string_view name, std::string_view rule) {
  return failure(errc::invalid_argument, "lock name " + shown_name(name) + " " + std::string(rule));
}

}  // namespace

std::string shown_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789abcdef";
  const bool cut = name.size() > 60;
  std::string out = "\"";
  for (const char c : name.substr(0, 60)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      out += c;
    else
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return out + (cut ? "...\" (" + std::to_string(name.size()) + " bytes)" : "\"");
}

result<void> check_name(std::string_view name, std::size_t longest) {
  if (name.empty()) return failure(errc::invalid_argument, "the lock name is empty");
  if (name.size() > longest) return bad(name, "is longer than " + std::to_string(longest) + " bytes");
  if (all_ordinary(name)) return {};
  for (std::size_t i = 0; i < name.size();) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte < 0x20 || byte == 0x7f) return bad(name, "contains a control character");
    const auto size = sequence(name.substr(i));
    if (!size) return bad(name, "is not valid UTF-8");
    i += *size;
  }
  for (std::size_t at = 0; at <= name.size();) {
    const auto slash = std::min(name.find('/', at), name.size());
    const auto part = name.substr(at, slash - at);
    if (part == "." || part == "..") return bad(name, "has a part that is just \"" + std::string(part) + "\"");
    at = slash + 1;
  }
  return {};
}

}  // namespace interlock::inline v1::core
