// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/mutex.hpp>

#include <mutex>
#include <optional>
#include <vector>

namespace interlock::inline v1 {

/// A distributed lock that its owner may take again: the same token at every depth, freed at the last unlock.
///
/// The owner is options.owner, else the calling thread. Unlock by an owner that does not hold it does nothing. After a
/// loss the depth is 0: the next lock() queues anew.
class recursive_mutex {
 public:
  recursive_mutex(client locks, std::string_view name, acquire_options options = {});
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;
  ~recursive_mutex();

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
  /// The innermost hold; an empty guard while not locked. Call it as the owner.
  [[nodiscard]] const guard& hold() const noexcept;
  /// How often the present owner has locked it and not unlocked.
  [[nodiscard]] std::size_t depth() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  bool lock_within(std::optional<milliseconds> wait);
  void push(guard held, const owner_id& owner);
  [[nodiscard]] owner_id caller() const noexcept { return options_.owner.value_or(owner_id::this_thread()); }

  client locks_;
  std::string name_;
  acquire_options options_;
  mutable std::mutex mutex_;  // guards stack_ and owner_
  std::vector<guard> stack_;
  std::optional<owner_id> owner_;  // whose stack_ it is
};

}  // namespace interlock::inline v1
