// SPDX-License-Identifier: MIT
#include "cli/watcher.hpp"

#include "cli/timer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

constexpr int pipe_place = 3;

// Lets go of everything that belongs to the caller: terminal, descriptors, folder.
void detach(int pipe) noexcept {
  ::setsid();
  ::prctl(PR_SET_NAME, "interlock-watch");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::dup2(pipe, pipe_place);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
  ::close_range(pipe_place + 1, ~0U, 0);
  if (::chdir("/") != 0) return;  // it only means that a file system stays busy a little longer
}

// What came through the pipe: false when the parent is gone.
bool drain(int pipe) noexcept {
  std::array<char, 64> bytes{};
  const auto got = ::read(pipe, bytes.data(), bytes.size());
  return got > 0 || (got < 0 && errno == EINTR);
}

[[noreturn]] void watch(leash& line, int pipe) noexcept {
  detach(pipe);
  timer alarm;
  bool parent = true;
  while (true) {
    const auto now = boot_clock::now();
    auto next = line.enforce(now);
    if (!parent && (!next || !line.occupied())) ::_exit(0);
    // Nobody tells an orphan's watcher that the command has ended.
    if (!parent) next = std::min(*next, now + std::chrono::milliseconds(20));
    alarm.set(next);
    std::array<pollfd, 2> wait{pollfd{alarm.fd(), POLLIN, 0}, pollfd{parent ? pipe_place : -1, POLLIN, 0}};
    ::poll(wait.data(), wait.size(), -1);
    if (wait[1].revents != 0 && !drain(pipe_place)) {
      if (line.finished()) ::_exit(0);
      parent = false;
      line.orphan();
    }
  }
}

failure refused(std::string_view what) {
  const int error = errno;
  return failure(errc::unavailable,
                 "cannot start the watcher: " + std::string(what) + ": " + std::generic_category().message(error));
}

}  // namespace

result<watcher> watcher::start() {
  void* page = ::mmap(nullptr, sizeof(leash), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return refused("mmap");
  auto* line = new (page) leash;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return refused("pipe");
  descriptor read_end(ends[0]);
  descriptor write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return refused("fork");
  if (pid == 0) {
    write_end.reset();
    watch(*line, read_end.get());
  }
  return watcher(line, std::move(write_end), pid);
}

watcher::watcher(watcher&& other) noexcept
    : line_(other.line_), pipe_(std::move(other.pipe_)), pid_(std::exchange(other.pid_, -1)) {}

watcher::~watcher() {
  if (pid_ < 0) return;
  dismiss();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool watcher::alive() noexcept {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

void watcher::wake() const noexcept {
  const char byte = 0;
  // A full pipe already says what this byte would; a broken one means a dead watcher, and the parent enforces too.
  if (::write(pipe_.get(), &byte, 1) != 1) return;
}

void watcher::dismiss() noexcept {
  line_->finish();
  pipe_.reset();
}

}  // namespace interlock::cli
