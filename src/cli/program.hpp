// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace interlock::cli {

/// A command as execve wants it, or why it cannot be run.
struct program {
  std::string path{};
  int refusal = 0;  ///< 126 or 127, as shells have it; 0: there it is
  std::string why{};
};

/// Looks in $PATH as a shell does. Asked before the lock is taken: a mistyped command should not wait for it.
program find_program(std::string_view name);
/// What exec's own answer means; it knows better than any check before it.
program exec_refusal(std::string_view name, int error);

}  // namespace interlock::cli
