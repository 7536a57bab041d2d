// SPDX-License-Identifier: MIT
#include "api/builtin_stores.hpp"
#include "cli/acquisition.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/job.hpp"
#include "cli/program.hpp"
#include "cli/secrets.hpp"
#include "cli/status_lines.hpp"
#include "cli/store.hpp"
#include "cli/supervisor.hpp"
#include "cli/watcher.hpp"
#include "cli/words.hpp"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <sys/wait.h>

namespace interlock::cli {
namespace {

// A store that was told to make no tokens is still a store.
std::optional<fencing_token> token_of(const guard& held) {
  try {
    return held.token();
  } catch (const lock_error&) {
    return {};
  }
}

std::vector<std::string> additions(const guard& held) {
  std::vector<std::string> out{"INTERLOCK_NAME=" + held.name()};
  if (const auto token = token_of(held)) {
    out.push_back("INTERLOCK_TOKEN=" + to_string(*token));
    out.push_back("INTERLOCK_SEQUENCER=" + held.sequencer());
  }
  return out;
}

// The command has ended (or never began): the watcher goes home while the store is told.
void let_go(guard& held, watcher& second, status_lines& status) {
  second.dismiss();
  if (auto done = held.release(); done)
    status.released();
  else
    status.release_failed(done.error().message()), report(done.error());
}

int not_started(std::string_view name, guard& held, watcher& second, status_lines& status) {
  const int error = second.line().exec_error();
  if (error == ECANCELED) {
    say("lost " + safe(held.name()) + " before the command could start");
    status.lost(to_string(held.why_lost()));
    second.dismiss();
    return exit_lost;
  }
  let_go(held, second, status);
  const auto refusal = exec_refusal(name, error);
  say(refusal.why);
  return refusal.refusal;
}

int ending(const supervisor& over, guard& held, watcher& second, status_lines& status) {
  const int ended = over.wait_status();
  WIFSIGNALED(ended) ? status.killed(WTERMSIG(ended)) : status.exited(WEXITSTATUS(ended));
  if (over.lost()) {
    second.dismiss();
    return exit_lost;
  }
  let_go(held, second, status);
  return WIFSIGNALED(ended) ? -WTERMSIG(ended) : WEXITSTATUS(ended);
}

// An exit code, or a signal's number with a minus before it.
int run_locked(const arguments& got, guard held, const program& what, watcher& second, signals& caught,
               status_lines& status) {
  status.acquired(got.words[0], token_of(held));
  const job command(what.path, got.command, command_environment(additions(held)));
  supervisor over(held, second, caught, status, got.quiet);
  over.begin();
  const pid_t pid = command.start(second.line(), caught);
  if (pid < 0) return not_started(got.command.front(), held, second, status);
  over.watch(pid);
  return ending(over, held, second, status);
}

std::string purpose_of(const arguments& got) {
  if (got.purpose) return std::string(*got.purpose);
  // Not its arguments: they may hold secrets, and everybody who can reach the store would see them.
  const std::string_view path = got.command.front();
  return std::string(path.substr(path.rfind('/') + 1));
}

int run(const arguments& got) {
  const auto what = find_program(got.command.front());
  if (what.refusal != 0) {
    say(what.why);
    return what.refusal;
  }
  status_lines status(got.status_fd);
  auto second = watcher::start();
  if (!second) return report(second.error());
  api::expect_short_life();
  auto locks = open_store(got, purpose_of(got));
  if (!locks) {
    status.refused(locks.error().kind(), locks.error().message());
    return report(locks.error());
  }
  signals caught;
  auto reply = acquire(*locks, got, caught, status);
  if (auto* held = std::get_if<guard>(&reply)) return run_locked(got, std::move(*held), what, *second, caught, status);
  // By name, not by the destructor: the thread that brought the answer may hold the client a moment longer, and whoever
  // ends by a signal does not wait for it to leave the queue.
  locks->close();
  if (const auto* stop = std::get_if<interrupted>(&reply)) {
    status.refused(errc::cancelled, "signal " + std::to_string(stop->signal));
    return -stop->signal;
  }
  const auto& why = std::get<failure>(reply);
  status.refused(why.kind(), why.message());
  return why == errc::busy ? exit_busy : report(why);
}

}  // namespace

int run_command(const arguments& got) {
  const int code = run(got);  // by now everything is let go of and closed
  if (code < 0) die_by(-code);
  return code;
}

}  // namespace interlock::cli
