// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>
#include <string>

namespace interlock::inline v1::postgres_store {

/// postgres://user@host/database?schema=interlock&table=il
result<std::unique_ptr<backend>> open_postgres(const backend_environment& environment);

/// The statements that make the tables and functions of such a URL.
result<std::string> schema_for(const store_url& url);

}  // namespace interlock::inline v1::postgres_store
