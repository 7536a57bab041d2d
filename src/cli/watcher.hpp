// SPDX-License-Identifier: MIT
#pragma once

#include "cli/descriptor.hpp"
#include "cli/leash.hpp"

#include <interlock/result.hpp>

#include <sys/types.h>

namespace interlock::cli {

/// A second process that pulls the leash when the first one cannot: frozen by SIGSTOP, killed by -9, starved.
///
/// Its own session, so that neither the terminal nor a signal to the parent's group reaches it; none of the caller's
/// descriptors, so that `interlock run x -- true | cat` ends when the command does.
class watcher {
 public:
  /// Call before any thread or store exists: the process forks here.
  static result<watcher> start();
  watcher(watcher&& other) noexcept;
  watcher& operator=(watcher&&) = delete;
  ~watcher();

  [[nodiscard]] leash& line() const noexcept { return *line_; }
  /// false: somebody killed it. The parent still enforces the leash, but nobody would if the parent were frozen.
  [[nodiscard]] bool alive() noexcept;
  /// Something on the leash has changed: look at it again.
  void wake() const noexcept;
  /// The command has ended: nothing to watch. Does not wait for the process; the destructor does.
  void dismiss() noexcept;

 private:
  watcher(leash* line, descriptor pipe, pid_t pid) noexcept : line_(line), pipe_(std::move(pipe)), pid_(pid) {}
  leash* line_;
  descriptor pipe_;  // its end, on our death too, is how the watcher learns of it
  pid_t pid_;        // -1: reaped, or moved from
};

}  // namespace interlock::cli
