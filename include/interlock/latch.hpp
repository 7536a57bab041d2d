// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace interlock::inline v1 {

/// Opens when it has been counted down to zero, across the fleet, and stays open: std::latch between processes.
///
/// A latch is data, not a lock: nobody holds it, there is no lease, and nothing happens to it when a participant dies.
/// If the one who still had to count is gone, the latch stays shut: bound your waits.
///
/// *Who makes it.* The first count_down() or create(). Everybody says the same count; one who says another is refused
/// with invalid_argument by every member. Waiting for a latch that nobody has made is waiting.
///
/// *How long it is remembered.* `keep` after the last change, open or not: seven days unless said otherwise. After that
/// the name is free for a new one. For the next round take another name ("import/2024-05-03"), or reset() while nobody
/// waits: who has not seen the opening by then waits for the next.
///
/// *With layout=redisson* it is Redisson's RCountDownLatch. Redisson deletes a latch that has opened, so one that is
/// not there *is* open: somebody has to create() it, here or there, before anyone waits. Nothing is forgotten before
/// that. The first count is not written down either: another one is noticed only if more is left than it.
///
/// Members may be called from any thread. Throws lock_error with `unsupported` where the store has no latches
/// (traits().latches), with `unavailable` or `indeterminate` after `patience` without a word from the store.
class latch {
 public:
  static constexpr std::uint32_t count_max = 2'147'483'647;

  /// Does not ask the store. A count of 0 or above count_max throws invalid_argument.
  latch(client locks, std::string_view name, std::uint32_t count, milliseconds keep = std::chrono::hours{7 * 24});

  /// Below zero is invalid_argument, and nothing is counted. A lost answer does not count twice: it is found out what
  /// became of the question; `indeterminate` only if that cannot be found out. Answers what is left.
  std::uint32_t count_down(std::uint32_t by = 1) const;
  result<std::uint32_t> attempt_count_down(std::uint32_t by = 1) const;

  /// Is it open?
  [[nodiscard]] bool try_wait() const;
  /// How much is still to come; already old when you read it.
  [[nodiscard]] std::uint32_t left() const;

  /// Returns when it is open. Outages in between are borne, each for `patience`.
  void wait(std::stop_token stop = {}) const;
  /// false: still shut after that time.
  [[nodiscard]] bool wait_for(milliseconds most, std::stop_token stop = {}) const;
  /// Not throwing; still shut after `most` is busy. Unset: for ever.
  result<void> attempt_wait(std::optional<milliseconds> most = {}, std::stop_token stop = {}) const;
  pending<void> async_wait(std::optional<milliseconds> most = {}, std::stop_token stop = {}) const;
  /// count_down, then wait.
  void arrive_and_wait(std::uint32_t by = 1, std::stop_token stop = {}) const;

  /// Makes it at its full count. false: it is there already.
  bool create() const;
  /// Back to the full count, for another round. Those that still wait, go on waiting.
  void reset() const;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  client locks_;
  std::string name_;
  std::uint32_t count_;
  milliseconds keep_;
};

}  // namespace interlock::inline v1
