// SPDX-License-Identifier: MIT
#include "core/planted.hpp"

#ifdef INTERLOCK_PLANTED_BUGS

#include <array>
#include <cstdlib>
#include <string_view>

namespace interlock::inline v1::core {
namespace {
constexpr std::array<std::string_view, 18> names{"renew_revives",          "release_any",
                                                 "deadline_from_reply",    "lost_wakeup",
                                                 "expire_early",           "barging",
                                                 "token_repeats",          "no_tombstone",
                                                 "dead_waiter_blocks",     "renew_after_release",
                                                 "stop_after_one_failure", "loss_untold",
                                                 "orphan_after_cancel",    "reader_joins_writer",
                                                 "downgrade_gap",          "evict_wrong",
                                                 "busy_for_unknown",       "token_after_handoff"};

int chosen() noexcept {
  const char* name = std::getenv("INTERLOCK_PLANT");
  for (std::size_t i = 0; name != nullptr && i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}
}  // namespace

bool planted(bug which) noexcept {
  static const int one = chosen();
  return one == static_cast<int>(which);
}

}  // namespace interlock::inline v1::core

#endif
