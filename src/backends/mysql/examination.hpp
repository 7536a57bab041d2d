// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/dial.hpp"
#include "backends/sql/examination.hpp"

#include <memory>

namespace interlock::inline v1::mysql_store {

/// How the server is set up, good or bad, and what to change. `found`: when connecting.
std::shared_ptr<sql::errand> examination_errand(const sql::object_names& names, const server_facts& found,
                                                completion<sql::checks> done);
/// The same where locks are those of sessions.
std::shared_ptr<sql::errand> session_examination_errand(const server_facts& found, completion<sql::checks> done);

}  // namespace interlock::inline v1::mysql_store
