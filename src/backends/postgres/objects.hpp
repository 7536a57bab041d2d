// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/objects.hpp"

#include <interlock/result.hpp>

#include <string>

namespace interlock::inline v1::postgres_store {

using sql::object_names;

/// Longer than PostgreSQL keeps, or impossible to write into the schema's text.
result<void> check_names(const object_names& names);

/// All that `interlock schema postgres` prints; harmless if run again.
std::string schema_text(const object_names& names);

/// The layout that this code speaks; written in the table of meta data.
inline constexpr int schema_version = 1;

}  // namespace interlock::inline v1::postgres_store
