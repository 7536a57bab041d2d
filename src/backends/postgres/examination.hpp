// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/dial.hpp"
#include "backends/postgres/objects.hpp"
#include "backends/sql/examination.hpp"

#include <memory>

namespace interlock::inline v1::postgres_store {

/// How the server is set up, good or bad, and what to change. `found`: when connecting.
std::shared_ptr<sql::errand> examination_errand(const object_names& names, const server_facts& found,
                                                completion<sql::checks> done);
/// The same where locks are those of sessions.
std::shared_ptr<sql::errand> session_examination_errand(const server_facts& found, completion<sql::checks> done);

}  // namespace interlock::inline v1::postgres_store
