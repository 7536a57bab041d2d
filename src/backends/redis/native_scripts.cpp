// SPDX-License-Identifier: MIT
#include "backends/redis/native_scripts.hpp"

#include "backends/redis/native_convert.lua.hpp"
#include "backends/redis/native_enter.lua.hpp"
#include "backends/redis/native_evict.lua.hpp"
#include "backends/redis/native_leave.lua.hpp"
#include "backends/redis/native_look.lua.hpp"
#include "backends/redis/native_part_check.lua.hpp"
#include "backends/redis/native_part_mend.lua.hpp"
#include "backends/redis/native_part_open.lua.hpp"
#include "backends/redis/native_part_save.lua.hpp"
#include "backends/redis/native_part_serve.lua.hpp"
#include "backends/redis/native_part_settle.lua.hpp"
#include "backends/redis/native_part_stands.lua.hpp"
#include "backends/redis/native_part_touch.lua.hpp"
#include "backends/redis/native_show.lua.hpp"

namespace interlock::inline v1::redis_store::native {
namespace {

std::string_view part(std::string_view file) {
  if (file == "native_part_mend.lua") return embedded::redis_native_part_mend_lua;
  if (file == "native_part_check.lua") return embedded::redis_native_part_check_lua;
  if (file == "native_part_open.lua") return embedded::redis_native_part_open_lua;
  if (file == "native_part_save.lua") return embedded::redis_native_part_save_lua;
  if (file == "native_part_serve.lua") return embedded::redis_native_part_serve_lua;
  if (file == "native_part_settle.lua") return embedded::redis_native_part_settle_lua;
  if (file == "native_part_stands.lua") return embedded::redis_native_part_stands_lua;
  if (file == "native_part_touch.lua") return embedded::redis_native_part_touch_lua;
  return "error('a part is missing')";
}

// Servers read the text once, people read it in this tree: comments and indentation stay here.
void append_lines(std::string& to, std::string_view text) {
  while (!text.empty()) {
    const auto length = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("--@ ")) append_lines(to, part(line.substr(4)));
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
