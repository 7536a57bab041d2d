// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/errand.hpp"

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::postgres_store {

/// Who holds what, one page of it.
std::shared_ptr<errand> survey_errand(const survey_query& what, completion<survey_page> done);

}  // namespace interlock::inline v1::postgres_store
