// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::sqlite_store {

/// `sqlite:/path/to/file.db`: locks among the processes of one host, without a server. Option
/// `synchronous=normal|full`.
result<std::unique_ptr<backend>> open_sqlite(const backend_environment& environment);

}  // namespace interlock::inline v1::sqlite_store
