// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <string>

namespace interlock::inline v1::postgres_store {

/// postgres://user@host/database?schema=interlock&table=il
result<std::unique_ptr<backend>> open_postgres(const backend_environment& environment);

/// The statements that make the tables and functions of such a URL.
result<std::string> schema_for(const store_url& url);

/// Who holds what, one page of it.
std::shared_ptr<sql::errand> survey_errand(const survey_query& what, completion<survey_page> done);

}  // namespace interlock::inline v1::postgres_store
