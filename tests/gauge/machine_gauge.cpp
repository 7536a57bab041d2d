// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stop_token>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <time.h>

/// Part of every test program. A test of time that fails on a machine which stood still for half a second has found
/// nothing; so with each failure is said how well the machine kept time meanwhile. It excuses nothing.
namespace interlock::test_support {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr auto pause = 20ms;
constexpr auto worth_telling = 100ms;

nanoseconds read(clockid_t which) {
  timespec at{};
  ::clock_gettime(which, &at);
  return std::chrono::seconds(at.tv_sec) + nanoseconds(at.tv_nsec);
}

void raise(std::atomic<nanoseconds>& most, nanoseconds seen) {
  if (seen > most.load()) most = seen;
}

/// Sleeps a little again and again, on one core after the other, and looks how much time has passed.
class machine_gauge final : public ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void OnTestStart(const ::testing::TestInfo&) override { late_ = back_ = 0ns; }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (!info.result()->Failed()) return;
    tell("the machine stood still for", late_);
    tell("the machine's clock went back by", back_);
  }
  void OnTestProgramEnd(const ::testing::UnitTest&) override { thread_ = {}; }

  static void tell(const char* what, nanoseconds most) {
    if (most < worth_telling) return;
    std::printf("%s up to %lld ms meanwhile\n", what, static_cast<long long>(most / 1ms));
    std::fflush(stdout);
  }

  void watch(const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "machine-gauge");
    constexpr std::array clocks{CLOCK_MONOTONIC, CLOCK_BOOTTIME};
    cpu_set_t allowed;
    const bool knows_cores = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    int core = 0;
    while (!stop.stop_requested()) {
      std::array<nanoseconds, clocks.size()> before{};
      for (std::size_t i = 0; i < clocks.size(); ++i) before[i] = read(clocks[i]);
      if (knows_cores) core = move_on(allowed, core);
      std::this_thread::sleep_for(pause);
      for (std::size_t i = 0; i < clocks.size(); ++i) {
        const auto passed = read(clocks[i]) - before[i];
        raise(late_, passed - pause);
        raise(back_, pause - passed);
      }
    }
  }

  static int move_on(const cpu_set_t& allowed, int from) {
    int next = from;
    do next = (next + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(next, &allowed) && next != from);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(next, &only);
    ::sched_setaffinity(0, sizeof only, &only);
    return next;
  }

  std::atomic<nanoseconds> late_{0ns}, back_{0ns};
  std::jthread thread_;
};

const bool listening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new machine_gauge);
  return true;
}();

}  // namespace
}  // namespace interlock::test_support
