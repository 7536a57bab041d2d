// SPDX-License-Identifier: MIT
#include "cli/program.hpp"

#include "cli/exit_code.hpp"
#include "cli/words.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

// 0, or what exec would say.
int execution_error(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return errno;
  if (!S_ISREG(about.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

bool absent(int error) { return error == ENOENT || error == ENOTDIR; }

}  // namespace

program exec_refusal(std::string_view name, int error) {
  const auto shown = safe(name.substr(0, 200));
  if (absent(error)) return {{}, exit_not_found, shown + ": command not found"};
  return {{}, exit_not_executable, shown + ": cannot be executed: " + std::generic_category().message(error)};
}

program find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    const int error = execution_error(std::string(name));
    return error == 0 ? program{std::string(name)} : exec_refusal(name, error);
  }
  const char* found = std::getenv("PATH");
  std::string_view folders = found != nullptr ? found : "/bin:/usr/bin";
  int best = ENOENT;
  while (true) {
    const auto colon = folders.find(':');
    const auto folder = folders.substr(0, colon);
    const auto path = (folder.empty() ? "." : std::string(folder)) + "/" + std::string(name);
    const int error = execution_error(path);
    if (error == 0) return {path};
    if (!absent(error)) best = error;
    if (colon == std::string_view::npos) return exec_refusal(name, best);
    folders.remove_prefix(colon + 1);
  }
}

}  // namespace interlock::cli
