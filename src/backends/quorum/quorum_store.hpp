// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::quorum_store {

/// redlock://, redlocks://, redis+dual://, rediss+dual://
result<std::unique_ptr<backend>> open_quorum(const backend_environment& environment);

}  // namespace interlock::inline v1::quorum_store
