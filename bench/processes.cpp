// SPDX-License-Identifier: MIT
#include "processes.hpp"

#include "machine.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

constexpr double process_patience = 20;

[[noreturn]] void be_child(shared_facts& facts, const std::function<void(shared_facts&)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 1;
  try {
    body(facts);
    status = 0;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "interlock_bench: in a child process: %s\n", why.what());
  }
  ::_exit(status);
}

}  // namespace

processes::processes() {
  void* room = ::mmap(nullptr, sizeof(shared_facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  facts_ = ::new (room) shared_facts;
}

processes::~processes() {
  for (const auto child : children_) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  ::munmap(facts_, sizeof(shared_facts));
}

pid_t processes::start(const std::function<void(shared_facts&)>& body) {
  std::fflush(nullptr);
  const auto child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) be_child(*facts_, body);
  children_.push_back(child);
  ++started_;
  return child;
}

void processes::wait_until_ready() const {
  for (const double end = now() + process_patience; facts_->ready.load() < started_; sleep_for(0.001)) {
    if (now() > end) throw std::runtime_error("a child process does not get ready");
    for (const auto child : children_) look_after(child);
  }
}

void processes::look_after(pid_t child) const {
  siginfo_t info{};
  const int got = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  if (got == 0 && info.si_pid == child) throw std::runtime_error("a child process has ended too early");
}

void processes::finish() {
  facts_->over = true;
  for (const double end = now() + process_patience; !children_.empty();) {
    int status = 0;
    const auto ended = ::waitpid(children_.back(), &status, WNOHANG);
    if (ended == children_.back()) {
      children_.pop_back();
      if (status != 0) throw std::runtime_error("a child process has failed");
      continue;
    }
    if (now() > end) throw std::runtime_error("a child process does not end");
    sleep_for(0.001);
  }
}

}  // namespace bench
