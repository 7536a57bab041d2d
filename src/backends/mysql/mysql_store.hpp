// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <string>

namespace interlock::inline v1::mysql_store {

/// mysql://user@host/database?table=il
result<std::unique_ptr<backend>> open_mysql(const backend_environment& environment);

/// The statements that make the tables and procedures of such a URL.
result<std::string> schema_for(const store_url& url);

}  // namespace interlock::inline v1::mysql_store
