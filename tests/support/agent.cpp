// SPDX-License-Identifier: MIT
#include "support/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

extern char** environ;

namespace interlock::test_support {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {
void throw_if(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}
}  // namespace

#ifdef INTERLOCK_AGENT
agent::agent(std::vector<std::string> arguments) { start(INTERLOCK_AGENT, arguments); }
#else
agent::agent(std::vector<std::string>) { throw std::logic_error("the agent was not built"); }
#endif

agent::agent(std::string program, std::vector<std::string> arguments) { start(program, arguments); }

agent::agent(agent&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      status_(other.status_),
      read_(std::move(other.read_)) {}

agent::~agent() {
  kill();
  end_input();
  if (from_ >= 0) close(from_);
}

void agent::start(const std::string& program, const std::vector<std::string>& arguments) {
  std::array<int, 2> down{}, up{};
  if (pipe2(down.data(), O_CLOEXEC) != 0 || pipe2(up.data(), O_CLOEXEC) != 0) throw_if(errno, "pipe");
  posix_spawn_file_actions_t plan;
  throw_if(posix_spawn_file_actions_init(&plan), "spawn");
  posix_spawn_file_actions_adddup2(&plan, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&plan, up[1], STDOUT_FILENO);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int failed = posix_spawn(&pid_, program.c_str(), &plan, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&plan);
  close(down[0]);
  close(up[1]);
  to_ = down[1];
  from_ = up[0];
  throw_if(failed, program.c_str());
}

std::optional<std::string> agent::line(std::chrono::milliseconds within) {
  const auto end = clock::now() + within;
  for (;;) {
    if (const auto at = read_.find('\n'); at != std::string::npos) {
      auto one = read_.substr(0, at);
      read_.erase(0, at + 1);
      return one;
    }
    const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()), 0ms);
    pollfd ready{from_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) throw_if(errno, "poll");
    if (ready.revents == 0) {
      if (left == 0ms) return std::nullopt;
      continue;
    }
    std::array<char, 4096> some{};
    const auto count = read(from_, some.data(), some.size());
    if (count <= 0) return std::nullopt;
    read_.append(some.data(), static_cast<std::size_t>(count));
  }
}

std::optional<std::string> agent::after(const std::string& beginning, std::chrono::milliseconds within) {
  const auto end = clock::now() + within;
  for (;;) {
    const auto one = line(std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()));
    if (!one) return std::nullopt;
    if (!one->starts_with(beginning)) continue;
    const auto rest = one->substr(beginning.size());
    return rest.starts_with(' ') ? rest.substr(1) : rest;
  }
}

void agent::say(const std::string& line) const {
  const auto text = line + "\n";
  if (write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) throw_if(errno, "write to the agent");
}

void agent::end_input() {
  if (to_ >= 0) close(std::exchange(to_, -1));
}

void agent::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  reap();
}
void agent::freeze() const {
  ::kill(pid_, SIGSTOP);
  int stopped = 0;  // all of its threads, not soon but now
  while (waitpid(pid_, &stopped, WUNTRACED) < 0 && errno == EINTR) {
  }
}
void agent::thaw() const { ::kill(pid_, SIGCONT); }

int agent::wait() {
  end_input();
  reap();
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

void agent::reap() noexcept {
  if (pid_ <= 0) return;
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace interlock::test_support
