// SPDX-License-Identifier: MIT
#include "peer_process.hpp"

#include "machine.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace bench {
namespace {

constexpr double peer_patience = 60;

// In the child: only what is safe between fork and exec.
[[noreturn]] void become(std::vector<char*>& words, int input, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return ends;
}

}  // namespace

std::string peer_library::missing() const {
  if (!runs_on.empty() && !can_run(runs_on)) return "there is no " + runs_on + " on this machine";
  return std::filesystem::exists(needs) ? "" : name + " is not installed; ./dev bench --peers says why";
}

peer_process::peer_process(const peer_library& which, const std::vector<std::string>& addresses) : name_(which.name) {
  auto words = which.command;
  words.insert(words.end(), addresses.begin(), addresses.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto input = make_pipe(), output = make_pipe();
  process_ = ::fork();
  if (process_ == 0) become(arguments, input[0], output[1]);
  ::close(input[0]);
  ::close(output[1]);
  to_ = input[1];
  from_ = output[0];
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (const auto said = line(peer_patience); said != "ready") throw std::runtime_error(name_ + ": " + said);
  ::kill(process_, SIGSTOP);
}

peer_process::~peer_process() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  ::close(to_);
  ::close(from_);
}

std::string peer_process::line(double within) {
  for (const double end = now() + within;;) {
    if (const auto at = read_.find('\n'); at != read_.npos) {
      auto first = read_.substr(0, at);
      read_.erase(0, at + 1);
      return first;
    }
    pollfd readable{from_, POLLIN, 0};
    const auto left = static_cast<int>(1000 * (end - now()));
    if (left <= 0) return "no answer";
    if (::poll(&readable, 1, left) <= 0) continue;
    std::array<char, 4096> some{};
    const auto count = ::read(from_, some.data(), some.size());
    if (count <= 0) return "it has ended";
    read_.append(some.data(), static_cast<std::size_t>(count));
  }
}

void peer_process::say(const std::string& text) const {
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category(), name_);
}

double peer_process::awake(const std::string& word, int number, double seconds) {
  ::kill(process_, SIGCONT);
  const double each = work(word, number, seconds);
  ::kill(process_, SIGSTOP);
  return each;
}

double peer_process::work(const std::string& word, int number, double seconds) {
  say(word + " " + std::to_string(number) + " " + std::to_string(seconds) + "\n");
  const auto said = line(seconds + peer_patience);
  std::istringstream words(said);
  std::string first;
  double pairs = 0, took = 0;
  if (!(words >> first >> pairs >> took) || first != "pairs" || pairs <= 0)
    throw std::runtime_error(name_ + ": " + said);
  return took / pairs;
}

void peer_process::rest() const {
  constexpr double look = 0.1, idle = 0.1, longest = 5;
  double worked = processor_time_of(process_);
  for (const double end = now() + longest; now() < end;) {
    sleep_for(look);
    const double before = std::exchange(worked, processor_time_of(process_));
    if (worked - before <= idle * look) return;
  }
}

double peer_process::warm_up(int locks, double seconds) {
  constexpr int least = 20, most = 60, no_better = 5;
  const double begin = now();
  ::kill(process_, SIGCONT);
  double best = work("run", locks, seconds);
  for (int i = 1, since = 0; i < least || (i < most && since < no_better); ++i) {
    rest();
    const double once = work("run", locks, seconds);
    since = once < 0.97 * best ? 0 : since + 1;
    best = std::min(best, once);
  }
  rest();
  ::kill(process_, SIGSTOP);
  return now() - begin;
}

}  // namespace bench
