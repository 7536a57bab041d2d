// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/info.hpp>

#include <string>

/// Locks and claims as `ls`, `show` and `break` show them.
namespace interlock::cli {

class json_writer;

/// {"name", "limit", "holders": [...], "waiters": [...]}. Tokens are strings: a JavaScript number ends at 2^53.
void write_lock(json_writer& out, const lock_info& lock);
/// "exclusive", "shared", or "permits" for a semaphore's.
std::string mode_text(const lock_info& lock, const claim_info& claim);
/// How much of it is held: "1", or "3/4" for a semaphore.
std::string permits_text(const lock_info& lock);

}  // namespace interlock::cli
