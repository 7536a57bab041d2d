// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <string>

namespace interlock::inline v1::sqlite_store {

/// Which run of which kernel the boot clock belongs to. Instants of two processes compare only if this is equal.
result<std::string> boot_identity();

}  // namespace interlock::inline v1::sqlite_store
