// SPDX-License-Identifier: MIT
#include "backends/zookeeper/paths.hpp"

#include "core/percent.hpp"

namespace interlock::inline v1::zookeeper_store {

std::string lock_root::encoded(std::string_view name) const {
  std::string out;
  out.reserve(name.size() + 8);
  const bool reserved = name == "." || name == ".." || (root_.empty() && name == "zookeeper");
  for (const char one : name) {
    const bool plain = one > ' ' && one < '\x7f' && one != '/' && one != '%';
    if (plain && !(reserved && out.empty()))
      out += one;
    else
      core::append_percent(out, one);
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
    const auto byte = core::from_percent(child.substr(i + 1, 2));
    if (!byte) return {};
    out += *byte;
    i += 2;
  }
  if (out.empty() || encoded(out) != child) return {};  // one way to write each name, and no other
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
