// SPDX-License-Identifier: MIT
// A command that carries the C library inside itself cannot use that library's resolver, which loads other libraries of
// exactly the same build at run time. The system's own `getent` asks the same resolver, so that files, DNS and whatever
// else the host is set up for all count. This definition takes the place of the one in the store's library.
#if INTERLOCK_COMMAND_STATIC && INTERLOCK_WITH_REDIS

#include "backends/redis/resolve.hpp"
#include "cli/descriptor.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t most_text = 64 * 1024;

std::string read_all(int from) {
  std::string out;
  std::array<char, 4096> some{};
  while (out.size() < most_text) {
    const auto got = ::read(from, some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(some.data(), static_cast<std::size_t>(got));
  }
  return out;
}

// "127.0.0.1       STREAM localhost": the first word of the lines about streams.
std::vector<std::string> addresses_in(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("STREAM") == line.npos) continue;
    std::string address(line.substr(0, line.find(' ')));
    if (std::find(out.begin(), out.end(), address) == out.end()) out.push_back(std::move(address));
  }
  return out;
}

}  // namespace

result<std::vector<std::string>> ask_system(const std::string& host) {
  const auto failed = [&](const std::string& why) {
    return failure(errc::unavailable, "the host name " + host + " could not be looked up: " + why);
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe");
  const cli::descriptor out(ends[0]);
  cli::descriptor in(ends[1]);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "getent", verb = "ahosts", name = host;
  std::array<char*, 4> words{program.data(), verb.data(), name.data(), nullptr};
  pid_t child = 0;
  const int wrong = ::posix_spawnp(&child, "getent", &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  in.reset();
  if (wrong != 0) return failed("there is no getent to ask; give the address in numbers");
  const auto text = read_all(out.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  auto found = addresses_in(text);
  if (found.empty()) return failed("unknown");
  return found;
}

}  // namespace interlock::inline v1::redis_store

#endif
