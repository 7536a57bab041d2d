// SPDX-License-Identifier: MIT
#include "backends/redis/native_scripts.hpp"

#include "backends/redis/native_common.lua.hpp"
#include "backends/redis/native_convert.lua.hpp"
#include "backends/redis/native_enter.lua.hpp"
#include "backends/redis/native_evict.lua.hpp"
#include "backends/redis/native_leave.lua.hpp"
#include "backends/redis/native_look.lua.hpp"
#include "backends/redis/native_show.lua.hpp"

namespace interlock::inline v1::redis_store::native {
namespace {

// Servers read the text once, people read it in this tree: comments and indentation stay here.
void append_lines(std::string& to, std::string_view text) {
  while (!text.empty()) {
    const auto length = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("--@")) append_lines(to, embedded::redis_native_common_lua);
    if (line.empty() || line.starts_with("--")) continue;
    to += line;
    to += '\n';
  }
}

struct assembled {
  explicit assembled(std::string_view source)
      : text([&] {
          std::string out;
          append_lines(out, source);
          return out;
        }()) {}
  const std::string text;
  const script made{text};
};

}  // namespace

// Never destroyed: a client may still be closing while the program exits.
const script& enter_script() {
  static const auto& one = *new assembled(embedded::redis_native_enter_lua);
  return one.made;
}
const script& look_script() {
  static const auto& one = *new assembled(embedded::redis_native_look_lua);
  return one.made;
}
const script& leave_script() {
  static const auto& one = *new assembled(embedded::redis_native_leave_lua);
  return one.made;
}
const script& convert_script() {
  static const auto& one = *new assembled(embedded::redis_native_convert_lua);
  return one.made;
}
const script& evict_script() {
  static const auto& one = *new assembled(embedded::redis_native_evict_lua);
  return one.made;
}
const script& show_script() {
  static const auto& one = *new assembled(embedded::redis_native_show_lua);
  return one.made;
}

}  // namespace interlock::inline v1::redis_store::native
