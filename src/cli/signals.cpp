// SPDX-License-Identifier: MIT
#include "cli/signals.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

constexpr std::array passed_on{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGCHLD};

bool ignored(int signal) noexcept {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

void let_through(int signal) noexcept {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

signals::signals() {
  // A caller that ignores SIGCHLD would keep us from ever learning how the command ended.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &plain, &child_action_);

  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : passed_on)
    if (!ignored(signal)) sigaddset(&caught, signal);
  sigset_t blocked = caught;
  // Not read, only held off: writing to a terminal that is the command's at present, or to a reader who has left.
  for (const int signal : {SIGTTOU, SIGPIPE}) sigaddset(&blocked, signal);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &original_);
  fd_ = descriptor(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd_.get() < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

std::optional<int> signals::next() noexcept {
  signalfd_siginfo got{};
  if (::read(fd_.get(), &got, sizeof got) != static_cast<ssize_t>(sizeof got)) return {};
  return static_cast<int>(got.ssi_signo);
}

bool signals::deadly(int signal) noexcept {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT || signal == SIGUSR1 ||
         signal == SIGUSR2;
}

void stop_by(int signal) noexcept {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  let_through(signal);
  ::kill(::getpid(), signal);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void die_by(int signal) noexcept {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  ::kill(::getpid(), signal);
  let_through(signal);
  ::_exit(128 + signal);  // the signal did not end us: say it with a number
}

}  // namespace interlock::cli
