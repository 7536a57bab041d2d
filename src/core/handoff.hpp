// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <cstdint>

namespace interlock::inline v1::core {

/// A claim whose holder in this process has just let go, while others of this process queue for the same name.
struct handoff_facts {
  instant now{};
  instant until{};        ///< believed
  instant run_started{};  ///< since when the claim has been passed on without a word from the store
  milliseconds lease{};
  std::uint32_t run = 0;          ///< how often it was passed on in this run
  std::uint32_t behind = 0;       ///< claims of others in the store's queue, by its last word
  std::uint32_t tokens_left = 0;  ///< reserved and unused
  bool asked = false;             ///< the store was asked just now, because the run was long or the tokens used up
  bool jeopardy = false;
  bool published = false;  ///< somebody was given the sequencer: the store must see this grant end
  bool next_fits = true;   ///< the next caller's terms are no more than the claim's
};

enum class handoff : std::uint8_t {
  pass_on,    ///< to the next caller, here and now, no message to the store
  ask_first,  ///< look: are others queueing, and may we have more tokens?
  give_back,  ///< release in the store; the next caller queues there again
};

/// Fair between processes: a claim changes hands inside one process at most 16 times, or for 50 ms, once it is known
/// that others queue; and at least every 50 ms the store is asked whether they do.
constexpr handoff decide(const handoff_facts& f) noexcept {
  constexpr std::uint32_t longest_run = 16;
  constexpr milliseconds longest_time{50};
  if (!f.next_fits || f.published || f.jeopardy) return handoff::give_back;
  if (f.until - f.now < f.lease / 3) return handoff::give_back;
  const bool long_time = f.now - f.run_started >= longest_time;
  if (f.behind > 0 && (f.asked || f.run >= longest_run || long_time || f.tokens_left == 0)) return handoff::give_back;
  if (f.asked && f.tokens_left == 0) return handoff::give_back;  // the store makes no more of them
  if (long_time || f.tokens_left == 0) return handoff::ask_first;
  return handoff::pass_on;
}

/// How many tokens to reserve at once while several callers of one process queue for a name.
inline constexpr std::uint32_t token_block = 1024;

}  // namespace interlock::inline v1::core
