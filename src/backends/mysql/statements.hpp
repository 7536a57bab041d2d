// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/objects.hpp"
#include "backends/sql/waiting_room.hpp"

#include <interlock/backend.hpp>

#include <span>
#include <string>

namespace interlock::inline v1::mysql_store {

/// Who holds what, one page of it.
std::string survey_text(const sql::object_names& names, const survey_query& what);
/// Which of these still wait.
std::string still_waiting_text(const sql::object_names& names, std::span<const sql::waiting_room::seat> whom);

}  // namespace interlock::inline v1::mysql_store
