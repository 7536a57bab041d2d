// SPDX-License-Identifier: MIT
#include "cli/terminal.hpp"

#include <unistd.h>

namespace interlock::cli {

bool terminal_is_ours() noexcept { return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

bool may_lend_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1 && terminal_is_ours(); }

void lend_terminal(pid_t group) noexcept { ::tcsetpgrp(STDIN_FILENO, group); }

bool reclaim_terminal(pid_t group) noexcept {
  if (::isatty(STDIN_FILENO) != 1 || ::tcgetpgrp(STDIN_FILENO) != group) return false;
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  return true;
}

}  // namespace interlock::cli
