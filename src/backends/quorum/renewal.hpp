// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/quorum.hpp"

#include <memory>
#include <span>

namespace interlock::inline v1::quorum_store {

/// Looks at many claims at once: held ones are renewed in one question to each node, waiting ones try again.
void look(const std::shared_ptr<quorum>& at, std::span<const claim> whom, inline_work here, completion<standings> done);

}  // namespace interlock::inline v1::quorum_store
