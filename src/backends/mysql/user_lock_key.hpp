// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <string>
#include <string_view>

namespace interlock::inline v1::mysql_store {

/// What GET_LOCK is told for a name.
enum class key_rule {
  medallion,  ///< Medallion's: names of small letters and up to 64 bytes as they are, others shortened and hashed
  plain,      ///< the name itself, as tooz and plain SQL have it; what servers would not tell apart is refused
};

result<std::string> user_lock_key(std::string_view name, key_rule rule);

}  // namespace interlock::inline v1::mysql_store
