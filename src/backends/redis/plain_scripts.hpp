// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"

#include <interlock/options.hpp>

#include <string_view>

/// What the plain layout says to the server.
namespace interlock::inline v1::redis_store {

struct plain_scripts {
  script enter, look, leave, release, show, evict, sweep;
};
/// Made when they are first asked for: most programs use another store.
const plain_scripts& all_plain_scripts();

inline constexpr char companion_letter = 'c', mark_letter = 'm', channel_letter = 'n';

/// Where the values of evicted claims are told: to everybody, because a holder listens to no channel of its own.
inline constexpr std::string_view evictions = "ilk1:evicted";

/// How long a companion outlives its last use. Tokens go on rising without it, from the server's clock.
milliseconds companion_life(milliseconds lease) noexcept;

}  // namespace interlock::inline v1::redis_store
