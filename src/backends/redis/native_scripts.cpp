// SPDX-License-Identifier: MIT
#include "backends/redis/native_scripts.hpp"

#include "backends/redis/native_bundle.lua.hpp"
#include "backends/redis/native_convert.lua.hpp"
#include "backends/redis/native_enter.lua.hpp"
#include "backends/redis/native_evict.lua.hpp"
#include "backends/redis/native_leave.lua.hpp"
#include "backends/redis/native_look.lua.hpp"
#include "backends/redis/native_part_check.lua.hpp"
#include "backends/redis/native_part_enter.lua.hpp"
#include "backends/redis/native_part_hand_over.lua.hpp"
#include "backends/redis/native_part_join.lua.hpp"
#include "backends/redis/native_part_leave.lua.hpp"
#include "backends/redis/native_part_mend.lua.hpp"
#include "backends/redis/native_part_open.lua.hpp"
#include "backends/redis/native_part_place.lua.hpp"
#include "backends/redis/native_part_save.lua.hpp"
#include "backends/redis/native_part_serve.lua.hpp"
#include "backends/redis/native_part_settle.lua.hpp"
#include "backends/redis/native_part_stands.lua.hpp"
#include "backends/redis/native_part_touch.lua.hpp"
#include "backends/redis/native_show.lua.hpp"
#include "backends/redis/script_text.hpp"

namespace interlock::inline v1::redis_store::native {
namespace {

std::string_view part(std::string_view file) {
  if (file == "native_part_mend.lua") return embedded::redis_native_part_mend_lua;
  if (file == "native_part_check.lua") return embedded::redis_native_part_check_lua;
  if (file == "native_part_enter.lua") return embedded::redis_native_part_enter_lua;
  if (file == "native_part_hand_over.lua") return embedded::redis_native_part_hand_over_lua;
  if (file == "native_part_join.lua") return embedded::redis_native_part_join_lua;
  if (file == "native_part_leave.lua") return embedded::redis_native_part_leave_lua;
  if (file == "native_part_open.lua") return embedded::redis_native_part_open_lua;
  if (file == "native_part_place.lua") return embedded::redis_native_part_place_lua;
  if (file == "native_part_save.lua") return embedded::redis_native_part_save_lua;
  if (file == "native_part_serve.lua") return embedded::redis_native_part_serve_lua;
  if (file == "native_part_settle.lua") return embedded::redis_native_part_settle_lua;
  if (file == "native_part_stands.lua") return embedded::redis_native_part_stands_lua;
  if (file == "native_part_touch.lua") return embedded::redis_native_part_touch_lua;
  return missing_part;
}

}  // namespace

// Never destroyed: a client may still be closing while the program exits.
const script& enter_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_enter_lua, part);
  return one.made;
}
const script& look_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_look_lua, part);
  return one.made;
}
const script& leave_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_leave_lua, part);
  return one.made;
}
const script& bundle_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_bundle_lua, part);
  return one.made;
}
const script& convert_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_convert_lua, part);
  return one.made;
}
const script& evict_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_evict_lua, part);
  return one.made;
}
const script& show_script() {
  static const auto& one = *new assembled_script(embedded::redis_native_show_lua, part);
  return one.made;
}

}  // namespace interlock::inline v1::redis_store::native
