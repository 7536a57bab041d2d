// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_scripts.hpp"

#include "backends/redis/redisson_book.lua.hpp"
#include "backends/redis/redisson_claims.lua.hpp"
#include "backends/redis/redisson_convert.lua.hpp"
#include "backends/redis/redisson_enter.lua.hpp"
#include "backends/redis/redisson_fair.lua.hpp"
#include "backends/redis/redisson_leave.lua.hpp"
#include "backends/redis/redisson_lock.lua.hpp"
#include "backends/redis/redisson_lock_enter.lua.hpp"
#include "backends/redis/redisson_lock_leave.lua.hpp"
#include "backends/redis/redisson_look.lua.hpp"
#include "backends/redis/redisson_mark.lua.hpp"
#include "backends/redis/redisson_rw.lua.hpp"
#include "backends/redis/redisson_semaphore.lua.hpp"
#include "backends/redis/redisson_survey.lua.hpp"

namespace interlock::inline v1::redis_store::redisson {

namespace {
std::string whole_text(std::string_view shortcut, std::string_view kind, std::string_view operation) {
  std::string out(shortcut);
  out += embedded::redis_redisson_book_lua;
  out += kind;
  out += embedded::redis_redisson_claims_lua;
  out += operation;
  return out;
}
}  // namespace

built_script::built_script(std::string_view kind, std::string_view operation, std::string_view shortcut)
    : text_(whole_text(shortcut, kind, operation)), script_(text_) {}

object_scripts::object_scripts(std::string_view kind, std::string_view enter_shortcut, std::string_view leave_shortcut)
    : enter(kind, embedded::redis_redisson_enter_lua, enter_shortcut),
      look(kind, embedded::redis_redisson_look_lua),
      leave(kind, embedded::redis_redisson_leave_lua, leave_shortcut),
      mark(kind, embedded::redis_redisson_mark_lua) {}

// Never destroyed: a client may still be closing while the program exits.
const object_scripts& scripts_of(object what) {
  static const auto& lock =
      *new object_scripts(embedded::redis_redisson_lock_lua, embedded::redis_redisson_lock_enter_lua,
                          embedded::redis_redisson_lock_leave_lua);
  static const auto& rw = *new object_scripts(embedded::redis_redisson_rw_lua);
  static const auto& fair = *new object_scripts(embedded::redis_redisson_fair_lua);
  static const auto& semaphore = *new object_scripts(embedded::redis_redisson_semaphore_lua);
  switch (what) {
    case object::rw: return rw;
    case object::fair: return fair;
    case object::semaphore: return semaphore;
    case object::lock:
    case object::fenced: break;
  }
  return lock;
}

const script& convert_script() {
  static const auto& made = *new built_script(embedded::redis_redisson_rw_lua, embedded::redis_redisson_convert_lua);
  return made.get();
}

const script& survey_script() {
  static const auto& made = *new built_script(embedded::redis_redisson_rw_lua, embedded::redis_redisson_survey_lua);
  return made.get();
}

}  // namespace interlock::inline v1::redis_store::redisson
