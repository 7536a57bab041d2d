// SPDX-License-Identifier: MIT
#include "cli/job.hpp"

#include "cli/terminal.hpp"

#include <cerrno>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

char shell[] = "/bin/sh";

}  // namespace

job::job(std::string path, std::vector<char*> argv, std::vector<std::string> environment)
    : path_(std::move(path)), argv_(std::move(argv)), environment_(std::move(environment)) {
  script_argv_ = {shell, path_.data()};
  script_argv_.insert(script_argv_.end(), argv_.begin() + 1, argv_.end());
  for (auto& entry : environment_) envp_.push_back(entry.data());
  envp_.push_back(nullptr);
}

pid_t job::start(leash& line, const signals& caught) const noexcept {
  const bool foreground = may_lend_terminal();
  // Not fork: it would copy the page tables of a program that is about to be replaced. The child runs on our stack
  // while we sleep, so become() only makes system calls and writes to the leash.
  const pid_t pid = ::vfork();
  if (pid == 0) become(line, caught, foreground);
  if (pid < 0) line.exec_failed(errno);
  if (pid < 0 || line.exec_error() == 0) return pid;
  line.drop();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  reclaim_terminal(pid);
  return -1;
}

void job::become(leash& line, const signals& caught, bool foreground) const noexcept {
  const pid_t self = ::getpid();
  ::setpgid(0, 0);
  if (!line.start(self)) {
    line.exec_failed(ECANCELED);
    ::_exit(127);
  }
  if (foreground) lend_terminal(self);
  ::sigaction(SIGCHLD, &caught.original_child_action(), nullptr);
  ::sigprocmask(SIG_SETMASK, &caught.original_mask(), nullptr);
  ::execve(path_.c_str(), argv_.data(), envp_.data());
  if (errno == ENOEXEC) ::execve(shell, script_argv_.data(), envp_.data());
  line.exec_failed(errno);
  ::_exit(127);
}

}  // namespace interlock::cli
