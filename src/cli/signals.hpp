// SPDX-License-Identifier: MIT
#pragma once

#include "cli/descriptor.hpp"

#include <csignal>
#include <optional>

namespace interlock::cli {

/// Turns the signals that `run` passes on into something to poll for. Made once the store is open: until then a signal
/// just ends us, and the library's own threads take none anyway. What the caller told us to ignore (nohup) stays
/// ignored.
class signals {
 public:
  signals();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// The next one that arrived, if any.
  std::optional<int> next() noexcept;
  /// Would it have ended us, had we not caught it?
  static bool deadly(int signal) noexcept;

  /// As the caller had them: for the command.
  [[nodiscard]] const sigset_t& original_mask() const noexcept { return original_; }
  [[nodiscard]] const struct sigaction& original_child_action() const noexcept { return child_action_; }

 private:
  descriptor fd_;
  sigset_t original_{};
  struct sigaction child_action_ {};
};

/// Stops this process as the signal would have, and returns when it is continued. Returns at once where the kernel does
/// not stop it: nobody would be there to continue it.
void stop_by(int signal) noexcept;
/// Ends this process by the signal, so that a shell sees what it would have seen without us. Leaves no core: it would
/// be ours, not the command's.
[[noreturn]] void die_by(int signal) noexcept;

}  // namespace interlock::cli
