// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <string>

namespace interlock::inline v1::api {

/// $INTERLOCK_STORE, else an SQLite file in the user's state directory, whose directory is made if need be.
result<std::string> default_store_url();

}  // namespace interlock::inline v1::api
