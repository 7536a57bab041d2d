// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/queue_rules.hpp"

#include <optional>

namespace interlock::inline v1::etcd_store {

/// How a reader becomes the writer: what to write in its key, and what must still be so.
struct upgrade_plan {
  claim_text said{};
  std::vector<comparison> when{};
};

/// Nothing: others hold, or there is no token to give. `at` is the revision of the list, `keys` where it was read.
///
/// The token must be above all that were used before, and below that of every claim that waits, which has it already:
/// its own revision of creation, as long as it has not been used; else, if nobody waits, that of the write.
std::optional<upgrade_plan> plan_upgrade(const line& all, const place& mine, lock_mode mode, std::uint32_t weight,
                                         const key_range& keys, revision at);

}  // namespace interlock::inline v1::etcd_store
