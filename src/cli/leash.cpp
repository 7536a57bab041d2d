// SPDX-License-Identifier: MIT
#include "cli/leash.hpp"

#include <algorithm>
#include <csignal>

namespace interlock::cli {

void leash::hold(instant deadline, std::chrono::nanoseconds grace, std::chrono::nanoseconds margin) noexcept {
  grace_ = grace.count();
  margin_ = margin.count();
  deadline_ = ticks(deadline);
}

void leash::lose(instant now) noexcept {
  std::int64_t not_yet = 0;
  lost_at_.compare_exchange_strong(not_yet, ticks(now));
}

bool leash::start(pid_t group) noexcept {
  group_ = group;
  return !closed_;
}

std::optional<instant> leash::enforce(instant now) noexcept {
  const auto deadline = deadline_.load();
  const auto lost_at = lost_at_.load();
  const bool at_once = orphaned_ || lost_at != 0;
  if (deadline == 0) {
    if (at_once) closed_ = true;
    return {};
  }
  auto kill_at = deadline - margin_;
  auto ask_at = kill_at - grace_;
  if (lost_at != 0) kill_at = std::min(kill_at, lost_at + grace_);
  if (!at_once && ticks(now) < ask_at) return at(ask_at);

  closed_ = true;
  const auto group = group_.load();
  if (ticks(now) >= kill_at) {
    if (group != 0) ::kill(-group, SIGKILL);
    return {};
  }
  if (group != 0 && !asked_.exchange(true)) {
    ::kill(-group, SIGTERM);
    ::kill(-group, SIGCONT);  // a stopped command can only end once it runs
  }
  return at(kill_at);
}

bool leash::occupied() const noexcept {
  const auto group = group_.load();
  return group != 0 && ::kill(-group, 0) == 0;
}

}  // namespace interlock::cli
