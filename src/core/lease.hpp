// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>
#include <interlock/options.hpp>

#include <algorithm>

namespace interlock::inline v1::core {

/// How wrong clock *rates* may be: the store's lease and ours may differ by this part of it.
inline constexpr std::int64_t drift_percent = 1;

/// Kept free before the store's end of a lease, for its tick and for our own scheduling.
constexpr milliseconds slack(milliseconds lease) noexcept {
  return std::min(std::max(milliseconds{20}, lease / 50), lease / 4);
}

/// Until when an answered request lets us believe in a lease: counted from *before* it was sent, never from the answer.
constexpr instant believed_until(instant sent, milliseconds lease) noexcept {
  return sent + lease - lease * drift_percent / 100 - slack(lease);
}

/// Waiting claims renew too; a dead one must not hold up the queue for a long lease.
constexpr milliseconds waiting_lease(milliseconds lease) noexcept { return std::min(lease, milliseconds{10'000}); }

/// Renewals fall on common instants, so that many leases are renewed in few batches.
constexpr instant on_grid(instant when, milliseconds lease) noexcept {
  const auto step = std::max<boot_clock::duration>(lease / 64, milliseconds{1});
  return when - when.time_since_epoch() % step;
}

/// Silence that counts as trouble, though the lease still stands.
constexpr milliseconds jeopardy_after(milliseconds lease) noexcept { return std::min(lease / 6, milliseconds{1'000}); }

}  // namespace interlock::inline v1::core
