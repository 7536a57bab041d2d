// SPDX-License-Identifier: MIT
#pragma once

#include "cli/leash.hpp"
#include "cli/signals.hpp"

#include <string>
#include <vector>

#include <sys/types.h>

namespace interlock::cli {

/// A command ready to be executed: everything that needs memory is done before.
class job {
 public:
  job(std::string path, std::vector<char*> argv, std::vector<std::string> environment);

  /// Executes it in a process group of its own, on the leash before its first instruction. -1: see the leash's
  /// exec_error(), ECANCELED if the lock had run out by then.
  pid_t start(leash& line, const signals& caught) const noexcept;

 private:
  [[noreturn]] void become(leash& line, const signals& caught, bool foreground) const noexcept;

  std::string path_;
  std::vector<char*> argv_;
  std::vector<char*> script_argv_;  // for a script without #!, as every shell runs it
  std::vector<std::string> environment_;
  std::vector<char*> envp_;
};

}  // namespace interlock::cli
