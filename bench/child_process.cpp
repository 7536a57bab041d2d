// SPDX-License-Identifier: MIT
#include "child_process.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace bench {

pid_t start_program(std::vector<std::string> words, const std::string& log, std::optional<unsigned> core) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core.value_or(0), &cores);
  const pid_t made = ::fork();
  if (made < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (made > 0) return made;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (core) ::sched_setaffinity(0, sizeof cores, &cores);
  if (std::freopen(log.c_str(), "a", stdout) == nullptr || ::dup2(1, 2) < 0 || ::chdir("/") != 0) ::_exit(127);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace bench
