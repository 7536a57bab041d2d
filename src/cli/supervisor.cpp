// SPDX-License-Identifier: MIT
#include "cli/supervisor.hpp"

#include "cli/terminal.hpp"
#include "cli/words.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

namespace interlock::cli {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// How long before the end of the lease the command is asked to go, and how long before it is made to.
milliseconds grace(milliseconds lease) { return std::clamp<milliseconds>(lease / 6, 20ms, 5s); }
milliseconds margin(milliseconds lease) { return std::clamp<milliseconds>(lease / 20, 10ms, 500ms); }

}  // namespace

supervisor::supervisor(const guard& held, watcher& second, signals& caught, status_lines& status, bool quiet)
    : held_(held),
      watcher_(second),
      caught_(caught),
      status_(status),
      quiet_(quiet),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (bell_.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void supervisor::begin() {
  const auto now = boot_clock::now();
  lease_ = held_.remaining();
  watcher_.line().hold(now + lease_, grace(lease_), margin(lease_));
  watcher_.wake();
}

void supervisor::watch(pid_t command) {
  command_ = command;
  const std::stop_callback on_loss(held_.lost(), [this] { ::eventfd_write(bell_.get(), 1); });
  while (!ended_ || leftovers()) step();
  if (!held_.valid()) notice_loss();
  reclaim_terminal(command_);
  watcher_.line().drop();
}

// After a loss: of the command's group somebody is still there, and may be so. What SIGKILL has not ended soon is a
// zombie that nobody reaps.
bool supervisor::leftovers() const noexcept {
  if (!lost_ || !watcher_.line().occupied()) return false;
  return !killed_at_ || boot_clock::now() < *killed_at_ + 100ms;
}

void supervisor::step() {
  const auto now = boot_clock::now();
  keep_leash(now);
  auto& line = watcher_.line();
  auto next = line.enforce(now);
  if (line.pulled()) notice_loss();
  if (lost_ && !next && !killed_at_) killed_at_ = now;
  notice_trouble();

  // Awake just before the leash would be pulled, so that a renewal that came in late still counts.
  auto wake = now + std::max<nanoseconds>(lease_ / 10, 5ms);
  if (next) wake = std::min(wake, *next - now > 4ms && !line.pulled() ? *next - 3ms : *next);
  if (ended_) wake = std::min(wake, now + nanoseconds(20ms));  // nobody tells when the rest of the group has gone
  alarm_.set(wake);
  std::array<pollfd, 3> wait{pollfd{caught_.fd(), POLLIN, 0}, pollfd{bell_.get(), POLLIN, 0},
                             pollfd{alarm_.fd(), POLLIN, 0}};
  ::poll(wait.data(), wait.size(), -1);
  eventfd_t rung = 0;
  ::eventfd_read(bell_.get(), &rung);
  while (const auto signal = caught_.next()) handle(*signal);
}

void supervisor::keep_leash(instant now) {
  const auto left = held_.remaining();
  if (left > 0ms) {
    watcher_.line().extend(now + left);
  } else if (!lost_) {
    watcher_.line().lose(now);
    watcher_.wake();
  }
}

void supervisor::notice_loss() {
  if (lost_) return;
  lost_ = true;
  // The leash is pulled a little before the library would call it lost; that is the same thing told early.
  const auto why = held_.why_lost();
  const auto reason = to_string(why == loss_reason::none ? loss_reason::lapsed : why);
  say("lost " + safe(held_.name()) + " (" + std::string(reason) + ")" + (ended_ ? "" : ": stopping the command"));
  status_.lost(reason);
}

void supervisor::notice_trouble() {
  const bool trouble = held_.state() == lock_state::jeopardy;
  if (trouble != in_trouble_ && !lost_ && !quiet_)
    say(trouble ? "cannot renew " + safe(held_.name()) + "; still ours for " + spoken(held_.remaining())
                : "renewed " + safe(held_.name()) + " again");
  in_trouble_ = trouble;
  if (watcher_missed_ || watcher_.alive()) return;
  watcher_missed_ = true;
  say("the watcher process was killed: if this one is frozen or killed too, nobody stops the command in time");
}

void supervisor::handle(int signal) {
  if (signal == SIGCHLD) return look_at_command();
  if (ended_) return;
  if (signal == SIGCONT) return go_on();
  ::kill(-command_, signal);
}

void supervisor::look_at_command() {
  siginfo_t about{};
  if (ended_ || ::waitid(P_PID, static_cast<id_t>(command_), &about, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0)
    return;
  if (about.si_pid == 0) return;
  if (about.si_code != CLD_STOPPED) return reap();
  ::waitid(P_PID, static_cast<id_t>(command_), &about, WSTOPPED | WNOHANG);
  mirror_stop(about.si_status);
}

void supervisor::reap() {
  ended_ = true;
  // While it is a zombie its number is its own: the leash goes first. After a loss the others of its group, who keep
  // the number in use, must still be brought to an end.
  if (watcher_.line().pulled()) notice_loss();
  if (!lost_) watcher_.line().drop();
  while (::waitpid(command_, &wait_status_, 0) < 0 && errno == EINTR) {
  }
}

void supervisor::mirror_stop(int signal) {
  if ((signal == SIGTTIN || signal == SIGTTOU) && terminal_is_ours()) {
    lend_terminal(command_);
    ::kill(-command_, SIGCONT);
    return;
  }
  had_terminal_ = reclaim_terminal(command_);
  // Somebody stopped the command and only the command: they will continue it, and the lock stays held meanwhile.
  if (signal == SIGSTOP && !had_terminal_) return;
  stop_by(signal);
  sigset_t waiting;
  // Continued: the signal that did it is in the queue. Not stopped at all: nobody could have continued us, nor it.
  if (::sigpending(&waiting) == 0 && sigismember(&waiting, SIGCONT) == 0) go_on();
}

void supervisor::go_on() {
  if (had_terminal_ && terminal_is_ours()) lend_terminal(command_);
  had_terminal_ = false;
  ::kill(-command_, SIGCONT);
}

}  // namespace interlock::cli
