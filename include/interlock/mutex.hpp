// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

namespace interlock::inline v1 {

namespace detail {
/// How long from now until `deadline`, on whatever clock it is, rounded up to milliseconds and never negative.
template <class Clock, class Duration>
milliseconds time_until(const std::chrono::time_point<Clock, Duration>& deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return left < milliseconds{0} ? milliseconds{0} : left;
}
template <class Rep, class Period>
milliseconds not_negative(const std::chrono::duration<Rep, Period>& span) {
  if (span <= span.zero()) return milliseconds{0};
  if (span > std::chrono::hours{24 * 365}) return std::chrono::hours{24 * 365};
  return std::chrono::ceil<milliseconds>(span);
}
}  // namespace detail

/// A distributed lock for existing generic code: TimedLockable, so std::scoped_lock and std::unique_lock work on it.
///
/// lock() throws lock_error, busy if options.wait is set and runs out. Relocking waits for itself: any thread may
/// unlock, so a relock cannot be told from a hand-over. Standard wrappers cannot carry a token or a loss signal; hold()
/// does, and client::acquire is the door we recommend.
class mutex {
 public:
  mutex(client locks, std::string_view name, acquire_options options = {});
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex();

  void lock();
  /// false: busy; an outage throws.
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& span) {
    return lock_within(detail::not_negative(span));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return lock_within(detail::time_until(deadline));
  }
  /// As ~guard: queues the release, does not wait for it.
  void unlock() noexcept;
  /// While locked: the token and the loss signal. Otherwise an empty guard.
  [[nodiscard]] const guard& hold() const noexcept { return held_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  bool lock_within(milliseconds wait);

  client locks_;
  std::string name_;
  acquire_options options_;
  guard held_;  // written only by who holds the distributed lock
};

}  // namespace interlock::inline v1
