// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace interlock::cli {

/// How long a command may run, and who must be signalled when that is over. It lies on a page shared by three
/// processes: the parent that holds the lock, the watcher that outlives it, and the command until it is executed.
///
/// The two that enforce it never wait for each other: whichever is awake does what is due, and doing it twice is
/// harmless. Plain lock-free atomics, since a process can be killed or frozen anywhere.
class leash {
 public:
  /// The lock is surely ours until `deadline`. Of that time the last `margin` is for SIGKILL to take effect, and the
  /// `grace` before it for the command to end by itself after SIGTERM.
  void hold(instant deadline, std::chrono::nanoseconds grace, std::chrono::nanoseconds margin) noexcept;
  /// A renewal was confirmed.
  void extend(instant deadline) noexcept { deadline_ = ticks(deadline); }
  /// The lock is gone, whatever the deadline says: SIGTERM now, SIGKILL after the grace.
  void lose(instant now) noexcept;
  /// Nobody moves the deadline any more: SIGTERM now, SIGKILL when it comes.
  void orphan() noexcept { orphaned_ = true; }
  /// The command has ended and is about to be reaped: its process group's number may soon be somebody else's.
  void drop() noexcept { group_ = 0; }

  /// Called by the command itself, before it is executed. false: too late, it must not be.
  ///
  /// It makes the group known first and asks second; enforce() closes first and looks for a group second. So either
  /// the command sees that it is too late, or it is seen and killed: there is no moment in which it gets away.
  [[nodiscard]] bool start(pid_t group) noexcept;
  void exec_failed(int error) noexcept { exec_error_ = error; }
  [[nodiscard]] int exec_error() const noexcept { return exec_error_; }

  /// Does what is due. When to call again; nothing: only when something else has changed.
  std::optional<instant> enforce(instant now) noexcept;
  /// SIGTERM or SIGKILL was sent, or would have been had there been a command.
  [[nodiscard]] bool pulled() const noexcept { return closed_; }

  void finish() noexcept { finished_ = true; }
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  /// Some process of the command's group is still there.
  [[nodiscard]] bool occupied() const noexcept;

 private:
  static std::int64_t ticks(instant when) noexcept { return when.time_since_epoch().count(); }
  static instant at(std::int64_t ticks) noexcept { return instant(boot_clock::duration(ticks)); }

  std::atomic<std::int64_t> deadline_{0};  // 0: not held yet
  std::atomic<std::int64_t> lost_at_{0};   // 0: not lost
  std::atomic<std::int64_t> grace_{0};
  std::atomic<std::int64_t> margin_{0};
  std::atomic<pid_t> group_{0};
  std::atomic<int> exec_error_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> asked_{false};  // SIGTERM was sent: once is enough
  std::atomic<bool> orphaned_{false};
  std::atomic<bool> finished_{false};
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

}  // namespace interlock::cli
