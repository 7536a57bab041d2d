// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/mutex.hpp>

#include <mutex>
#include <vector>

namespace interlock::inline v1 {

/// A distributed readers/writer lock for existing generic code: SharedTimedLockable, so std::shared_lock,
/// std::unique_lock and std::scoped_lock work on it. Writers are not starved: readers arriving behind a waiting writer
/// queue behind it.
///
/// Upgrade and downgrade need to know which hold is meant: use client::acquire with lock_mode::shared and the guard's
/// upgrade() and downgrade(), or these while exactly that mode is held through this object by one reader or the writer.
class shared_mutex {
 public:
  shared_mutex(client locks, std::string_view name, acquire_options options = {});
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex();

  void lock();
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& span) {
    return lock_within(detail::not_negative(span));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return lock_within(detail::time_until(deadline));
  }
  void unlock() noexcept;

  void lock_shared();
  [[nodiscard]] bool try_lock_shared();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& span) {
    return lock_shared_within(detail::not_negative(span));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return lock_shared_within(detail::time_until(deadline));
  }
  void unlock_shared() noexcept;

  /// While a reader through this object: become the writer. busy: others read; deadlock: another reader upgrades.
  result<void> upgrade(std::optional<milliseconds> wait = {}, std::stop_token stop = {});
  /// While the writer: become a reader without a gap.
  result<void> downgrade();

  /// The writer's hold; an empty guard while not locked exclusively.
  [[nodiscard]] const guard& hold() const noexcept { return writer_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  bool lock_within(milliseconds wait);
  bool lock_shared_within(milliseconds wait);
  [[nodiscard]] acquire_options as(lock_mode mode, std::optional<milliseconds> wait) const;

  client locks_;
  std::string name_;
  acquire_options options_;
  std::mutex mutex_;  // guards readers_
  std::vector<guard> readers_;
  guard writer_;  // written only by who holds it exclusively
};

}  // namespace interlock::inline v1
