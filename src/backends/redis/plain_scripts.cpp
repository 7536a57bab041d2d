// SPDX-License-Identifier: MIT
#include "backends/redis/plain_scripts.hpp"

#include "backends/redis/plain_enter.lua.hpp"
#include "backends/redis/plain_evict.lua.hpp"
#include "backends/redis/plain_leave.lua.hpp"
#include "backends/redis/plain_look.lua.hpp"
#include "backends/redis/plain_part_leave.lua.hpp"
#include "backends/redis/plain_part_mark.lua.hpp"
#include "backends/redis/plain_part_tell.lua.hpp"
#include "backends/redis/plain_release.lua.hpp"
#include "backends/redis/plain_show.lua.hpp"
#include "backends/redis/plain_sweep.lua.hpp"
#include "backends/redis/script_text.hpp"
#include "core/claim_book.hpp"

#include <algorithm>
#include <chrono>

namespace interlock::inline v1::redis_store {

namespace {

std::string_view part(std::string_view file) {
  if (file == "plain_part_leave.lua") return embedded::redis_plain_part_leave_lua;
  if (file == "plain_part_mark.lua") return embedded::redis_plain_part_mark_lua;
  if (file == "plain_part_tell.lua") return embedded::redis_plain_part_tell_lua;
  return missing_part;
}

struct assembled_scripts {
  const assembled_script enter{embedded::redis_plain_enter_lua, part}, look{embedded::redis_plain_look_lua, part},
      leave{embedded::redis_plain_leave_lua, part}, release{embedded::redis_plain_release_lua, part};
  const plain_scripts all{enter.made,
                          look.made,
                          leave.made,
                          release.made,
                          script(embedded::redis_plain_show_lua),
                          script(embedded::redis_plain_evict_lua),
                          script(embedded::redis_plain_sweep_lua)};
};

}  // namespace

// Never destroyed: a client may still be undoing things while the program ends.
const plain_scripts& all_plain_scripts() {
  static const auto& one = *new assembled_scripts;
  return one.all;
}

milliseconds companion_life(milliseconds lease) noexcept {
  return std::max<milliseconds>(std::chrono::hours{24}, lease + core::tomb_time);
}

}  // namespace interlock::inline v1::redis_store
