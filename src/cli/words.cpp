// SPDX-License-Identifier: MIT
#include "cli/words.hpp"

#include "cli/utf8.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace interlock::cli {
namespace {

bool harmless(std::uint32_t point) noexcept {
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;  // C0, DEL, C1: they drive terminals
  if (point >= 0x200b && point <= 0x200f) return false;               // invisible
  if (point >= 0x2028 && point <= 0x202e) return false;               // line ends, reordering
  return !(point >= 0x2060 && point <= 0x206f) && point != 0xfeff;    // reordering, invisible
}

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const auto wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

void say(std::string_view line) noexcept {
  std::string text = "interlock: ";
  text.append(line).append("\n");
  write_all(STDERR_FILENO, text);  // nobody left to tell if this fails
}

void print(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) throw std::system_error(errno, std::generic_category(), "writing the output");
}

std::string safe(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [size, point] = first_glyph(text);
    const auto taken = std::max<std::size_t>(size, 1);
    if (size > 0 && harmless(point)) {
      out.append(text.substr(0, taken));
    } else {
      for (const char c : text.substr(0, taken)) {
        const auto byte = static_cast<unsigned char>(c);
        out.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
      }
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string spoken(milliseconds span) {
  const long long ms = span.count();
  const long long s = ms / 1000;
  std::array<char, 48> text{};
  if (ms < 1000)
    std::snprintf(text.data(), text.size(), "%lldms", ms);
  else if (s < 60)
    std::snprintf(text.data(), text.size(), "%lld.%llds", s, ms % 1000 / 100);
  else if (s < 3600)
    std::snprintf(text.data(), text.size(), "%lldm%02llds", s / 60, s % 60);
  else
    std::snprintf(text.data(), text.size(), "%lldh%02lldm", s / 3600, s % 3600 / 60);
  return text.data();
}

std::string_view nearest(std::string_view word, const std::string_view* first, const std::string_view* last) {
  if (word.size() > 32) return {};  // nobody mistypes that long
  std::string_view best;
  auto fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (; first != last; ++first)
    if (const auto distance = edits(word, *first); distance < fewest && distance < first->size())
      fewest = distance, best = *first;
  return best;
}

}  // namespace interlock::cli
