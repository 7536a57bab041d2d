// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/errand.hpp"
#include "backends/postgres/objects.hpp"

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::postgres_store {

/// How the server is set up, good or bad, and what to change.
std::shared_ptr<errand> examination_errand(const object_names& names, completion<std::vector<store_check>> done);

}  // namespace interlock::inline v1::postgres_store
