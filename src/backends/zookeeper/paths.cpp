// SPDX-License-Identifier: MIT
#include "backends/zookeeper/paths.hpp"

namespace interlock::inline v1::zookeeper_store {
namespace {

void put_escaped(std::string& to, char one) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(one);
  to += '%';
  to += digits[byte >> 4];
  to += digits[byte & 15];
}

int digit(char one) noexcept {
  if (one >= '0' && one <= '9') return one - '0';
  if (one >= 'A' && one <= 'F') return one - 'A' + 10;
  return -1;
}

}  // namespace

std::string lock_root::encoded(std::string_view name) const {
  std::string out;
  out.reserve(name.size() + 8);
  const bool reserved = name == "." || name == ".." || (root_.empty() && name == "zookeeper");
  for (const char one : name) {
    const bool plain = one > ' ' && one < '\x7f' && one != '/' && one != '%';
    if (plain && !(reserved && out.empty()))
      out += one;
    else
      put_escaped(out, one);
  }
  return out;
}

std::string lock_root::of(std::string_view name) const { return root_ + "/" + encoded(name); }

std::optional<std::string> lock_root::name_of(std::string_view child) const {
  std::string out;
  for (std::size_t i = 0; i < child.size(); ++i) {
    if (child[i] != '%') {
      out += child[i];
      continue;
    }
    if (i + 2 >= child.size()) return {};
    const int high = digit(child[i + 1]), low = digit(child[i + 2]);
    if (high < 0 || low < 0) return {};
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (out.empty() || encoded(out) != child) return {};  // one way to write each name, and no other
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
