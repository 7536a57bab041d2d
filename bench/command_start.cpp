// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "machine.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

/// Seconds from starting a program until it has ended.
double run_once(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const double before = now();
  pid_t child = 0;
  if (const int wrong = ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ); wrong != 0)
    throw std::system_error(wrong, std::generic_category(), words[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  if (status != 0) throw std::runtime_error(words[0] + " ended with status " + std::to_string(WEXITSTATUS(status)));
  return now() - before;
}

double median_run(double seconds, const std::vector<std::string>& words) {
  std::vector<double> each;
  for (const double end = now() + seconds; now() < end || each.size() < 5;) each.push_back(run_once(words));
  return median(std::move(each));
}

}  // namespace

void command_start(const settings& with, report& out) {
  if (!with_sqlite) return out.skip("command", no_sqlite);
  if (with.command.empty()) return out.skip("command", "the interlock command was not built; --command PATH names one");
  const scratch_folder folder(with.folder);
  const std::vector<std::string> floor{"flock", folder.file("lock"), "true"};
  const std::vector<std::string> candidate{with.command, "run", "x", "--store", "sqlite:" + folder.file("locks.db"),
                                           "--",         "true"};
  out.add(
      compare(
          with, [&] { return median_run(with.seconds, floor); }, [&] { return median_run(with.seconds, candidate); })
          .against(1.5, {.name = "command", .what = "interlock run x -- true, against flock file true, wall time"}));
}

}  // namespace bench
