// SPDX-License-Identifier: MIT
#include "backends/redis/native_keys.hpp"

#include <array>

namespace interlock::inline v1::redis_store::native {
namespace {

constexpr std::string_view key_head = "ilk1:{", key_tail = "}:b", digits = "0123456789ABCDEF";

constexpr std::array<bool, 256> plain_ones = [] {
  std::array<bool, 256> out{};
  for (int c = ' ' + 1; c < 256; ++c) out[static_cast<std::size_t>(c)] = c != '{' && c != '}' && c != '%' && c != 0x7f;
  return out;
}();
bool plain(char c) noexcept { return plain_ones[static_cast<unsigned char>(c)]; }
bool all_plain(std::string_view name) noexcept {
  bool out = true;
  for (const char c : name) out &= plain(c);
  return out;
}

std::optional<char> decoded(std::string_view two) noexcept {
  if (two.size() != 2) return {};
  const auto high = digits.find(two[0]), low = digits.find(two[1]);
  if (high == digits.npos || low == digits.npos) return {};
  return static_cast<char>(high * 16 + low);
}

}  // namespace

void append_encoded(std::string& to, std::string_view name) {
  if (all_plain(name)) {
    to += name;
    return;
  }
  for (const char c : name) {
    if (plain(c)) {
      to += c;
      continue;
    }
    to += '%';
    to += digits[static_cast<unsigned char>(c) >> 4];
    to += digits[static_cast<unsigned char>(c) & 15];
  }
}

void book_key(std::string& to, std::string_view name) {
  to = key_head;
  append_encoded(to, name);
  to += key_tail;
}

command_text::pieces book_key_pieces(std::string_view name, std::string& room) {
  if (!all_plain(name)) {
    append_encoded(room, name);
    name = room;
  }
  return {key_head, name, key_tail};
}

void add_keys(packet& to, std::string_view name, told keys) {
  std::string key;
  if (keys == told::book) {
    to.arg(book_key_pieces(name, key));
    return;
  }
  book_key(key, name);
  to.arg(key);
  for (const char other : {'c', 'l'}) {
    key.back() = other;
    to.arg(key);
  }
}

std::optional<std::string> name_of_book(std::string_view key) {
  if (key.size() <= key_head.size() + key_tail.size() || !key.starts_with(key_head) || !key.ends_with(key_tail))
    return {};
  key = key.substr(key_head.size(), key.size() - key_head.size() - key_tail.size());
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      if (!plain(key[i])) return {};
      out += key[i];
      continue;
    }
    const auto c = decoded(key.substr(i + 1, 2));
    if (!c || plain(*c)) return {};  // one name, one key: what need not be encoded is not
    out += *c;
    i += 2;
  }
  return out;
}

std::string book_pattern(std::string_view prefix) {
  std::string encoded, out(key_head);
  append_encoded(encoded, prefix);
  for (const char c : encoded) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') out += '\\';
    out += c;
  }
  out += '*';
  out += key_tail;
  return out;
}

}  // namespace interlock::inline v1::redis_store::native
