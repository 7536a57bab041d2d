// SPDX-License-Identifier: MIT
#pragma once

#include "cli/descriptor.hpp"
#include "cli/signals.hpp"
#include "cli/status_lines.hpp"
#include "cli/timer.hpp"
#include "cli/watcher.hpp"

#include <interlock/guard.hpp>

#include <optional>

#include <sys/types.h>

namespace interlock::cli {

/// Stands between the lock and the command while both last: moves the leash along with the lease, passes signals on,
/// stops and continues with the command.
class supervisor {
 public:
  supervisor(const guard& held, watcher& second, signals& caught, status_lines& status, bool quiet);

  /// Puts the leash in place. Before the command starts.
  void begin();
  /// Until the command has ended; after a loss, until its whole process group has.
  void watch(pid_t command);

  /// The lock did not last as long as the command.
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  /// The command's, as waitpid gives it.
  [[nodiscard]] int wait_status() const noexcept { return wait_status_; }

 private:
  void step();
  [[nodiscard]] bool leftovers() const noexcept;
  void keep_leash(instant now);
  void notice_loss();
  void notice_trouble();
  void handle(int signal);
  void look_at_command();
  void mirror_stop(int signal);
  void go_on();
  void reap();

  const guard& held_;
  watcher& watcher_;
  signals& caught_;
  status_lines& status_;
  bool quiet_;
  descriptor bell_;  // rung when the lock is lost
  timer alarm_;
  milliseconds lease_{};
  std::optional<instant> killed_at_{};
  pid_t command_ = -1;
  int wait_status_ = 0;
  bool ended_ = false;
  bool lost_ = false;
  bool in_trouble_ = false;
  bool had_terminal_ = false;
  bool watcher_missed_ = false;
};

}  // namespace interlock::cli
