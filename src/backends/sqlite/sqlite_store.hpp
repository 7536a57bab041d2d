// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::sqlite_store {

/// `sqlite:/path/to/file.db`: locks among the processes of one host, without a server. Option
/// `synchronous=normal|full`.
result<std::unique_ptr<backend>> open_sqlite(const backend_environment& environment);

/// For a process that opens one client, takes a lock and may end a moment later: what it does not need by then is not
/// made. For the whole process, and before it has used SQLite.
void expect_short_life() noexcept;

}  // namespace interlock::inline v1::sqlite_store
