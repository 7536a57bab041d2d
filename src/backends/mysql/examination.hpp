// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/dial.hpp"
#include "backends/sql/errand.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <vector>

namespace interlock::inline v1::mysql_store {

/// How the server is set up, good or bad, and what to change. `found`: when connecting.
std::shared_ptr<sql::errand> examination_errand(const sql::object_names& names, const server_facts& found,
                                                completion<std::vector<store_check>> done);

/// The same for locks that belong to sessions.
std::shared_ptr<sql::errand> session_examination_errand(const server_facts& found,
                                                        completion<std::vector<store_check>> done);

}  // namespace interlock::inline v1::mysql_store
