// SPDX-License-Identifier: MIT
#include "support/server_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <future>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace interlock::test_support {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

std::filesystem::path find(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    auto file = std::filesystem::path(folder) / program;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  throw std::runtime_error(program + " is not installed, and this test needs it: ./dev test installs what is missing");
}

// Between fork and exec, so nothing here may allocate or lock.
[[noreturn]] void become(const char* executable, char* const* words, const char* log, pid_t parent) {
  setpgid(0, 0);  // so that what it forks is signalled with it
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // died before it could take us along
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  close_range(3, ~0U, 0);
  execv(executable, words);
  _exit(127);
}

}  // namespace

server_process::server_process(std::string program)
    : folder_(program), program_(std::move(program)), executable_(find(program_)) {}

server_process::~server_process() { kill(); }

void server_process::start(std::vector<std::string> arguments) {
  if (running()) throw std::logic_error(program_ + " runs already");
  arguments_ = std::move(arguments);
  // The kernel sends the signal of a dead parent when the thread that forked ends. The main thread ends last; for any
  // other a thread is found that never ends.
  if (gettid() == getpid()) return launch();
  std::promise<void> launched;
  auto outcome = launched.get_future();
  std::thread([this, launched = std::move(launched)]() mutable {
    try {
      launch();
      launched.set_value();
    } catch (...) {
      launched.set_exception(std::current_exception());
    }
    for (;;) pause();
  }).detach();
  outcome.get();
}

void server_process::launch() {
  std::vector<std::string> texts{program_};
  texts.insert(texts.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> words;
  for (auto& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  const auto log = folder() / "log";
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(executable_.c_str(), words.data(), log.c_str(), parent);
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  setpgid(pid_, pid_);  // whoever of the two is first
  frozen_ = false;
}

void server_process::await(const std::string& what, const std::function<bool()>& condition,
                           std::chrono::milliseconds within) {
  const auto end = clock::now() + within;
  for (std::string why;; std::this_thread::sleep_for(1ms)) {
    try {
      if (condition()) return;
    } catch (const std::runtime_error& error) {
      why = std::string(": ") + error.what();
    }
    if (!running()) throw std::runtime_error(program_ + " ended before it was " + what + "; its log:\n" + log());
    if (clock::now() > end) {
      throw std::runtime_error(program_ + " is still not " + what + why + "; its log:\n" + log());
    }
  }
}

void server_process::signal(int number) const { ::kill(-pid_, number); }

void server_process::stop() {
  if (!running()) return;
  signal(SIGTERM);
  thaw();
  if (!ended_within(10s)) kill();
}

void server_process::kill() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void server_process::freeze() {
  if (!running()) throw std::logic_error(program_ + " does not run");
  signal(SIGSTOP);
  int status = 0;  // all of its threads, not soon but now
  while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status)) {
    pid_ = -1;
    throw std::runtime_error(program_ + " ended by itself; its log:\n" + log());
  }
  frozen_ = true;
}

void server_process::thaw() {
  if (pid_ > 0) signal(SIGCONT);
  frozen_ = false;
}

void server_process::restart() {
  kill();
  start(std::move(arguments_));
}

bool server_process::running() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
  return pid_ > 0;
}

bool server_process::ended_within(std::chrono::milliseconds patience) {
  const auto end = clock::now() + patience;
  while (running()) {
    if (clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::string server_process::log() const {
  std::ifstream file(folder() / "log");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::string tail;
  for (auto at = lines.size() - std::min<std::size_t>(lines.size(), 20); at < lines.size(); ++at) {
    tail += "  " + lines[at] + "\n";
  }
  return tail;
}

}  // namespace interlock::test_support
