// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

/// Lending the terminal to the command, as a shell does with its jobs. All of it does nothing where there is none.
namespace interlock::cli {

/// Should the command start in the foreground? Yes if we are there and nobody else of our process group can need the
/// terminal: with output into a pipe, as in `interlock run x -- make | less`, somebody does. Then it is lent on demand.
bool may_lend_terminal() noexcept;
/// We have the foreground ourselves.
bool terminal_is_ours() noexcept;
/// To `group`. SIGTTOU must be blocked.
void lend_terminal(pid_t group) noexcept;
/// Takes it back if `group` has it. true: it had.
bool reclaim_terminal(pid_t group) noexcept;

}  // namespace interlock::cli
