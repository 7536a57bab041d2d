// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"
#include "backends/redis/redisson_names.hpp"

#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store::redisson {

/// A script of the Redisson layout: the common words, what a claim is in this kind of object, what becomes of it, and
/// the one operation. `shortcut` comes before all this, because to define so many functions costs more than to call
/// them.
class built_script {
 public:
  built_script(std::string_view kind, std::string_view operation, std::string_view shortcut = {});
  built_script(const built_script&) = delete;
  built_script& operator=(const built_script&) = delete;
  [[nodiscard]] const script& get() const noexcept { return script_; }

 private:
  std::string text_;
  script script_;
};

/// All that is done to claims of one kind of object.
struct object_scripts {
  explicit object_scripts(std::string_view kind, std::string_view enter_shortcut = {},
                          std::string_view leave_shortcut = {});
  built_script enter, look, leave, mark;
};
const object_scripts& scripts_of(object what);

/// Reading to writing and back.
const script& convert_script();
const script& survey_script();

}  // namespace interlock::inline v1::redis_store::redisson
