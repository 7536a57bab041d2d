// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace interlock::inline v1::core {

/// Bugs that can be planted on purpose, to prove that the conformance suite catches them (tests/mutation). In every
/// ordinary build this is a constant false and leaves no trace. For sources only, not for headers: the sources that
/// include this are compiled twice, everything else is shared.
enum class bug : std::uint8_t {
  renew_revives,           // look re-creates a claim that expired
  release_any,             // leave removes whoever holds
  deadline_from_reply,     // the lease is counted from the answer, not from the question
  lost_wakeup,             // a grant is not pushed, and nobody looks
  expire_early,            // a lease ends at its last instant, not after it
  barging,                 // an attempt overtakes the queue
  token_repeats,           // a grant does not raise the token
  no_tombstone,            // a final leave forgets the id
  dead_waiter_blocks,      // expired waiters are not removed from the queue
  renew_after_release,     // the keeper goes on looking after release
  stop_after_one_failure,  // one failed renewal ends renewing
  loss_untold,             // a lost lease is not announced
  orphan_after_cancel,     // a cancelled wait stays in the queue
  reader_joins_writer,     // shared claims fit beside an exclusive one
  downgrade_gap,           // a downgrade lets go in between
  evict_wrong,             // evict ends the first holder, not the one named
  busy_for_unknown,        // silence is reported as busy
  token_after_handoff,     // a local hand-off keeps the old token
};

#ifdef INTERLOCK_PLANTED_BUGS
bool planted(bug which) noexcept;  // named by $INTERLOCK_PLANT
#else
constexpr bool planted(bug) noexcept { return false; }
#endif

}  // namespace interlock::inline v1::core
