// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace bench {
namespace {

std::uint64_t status_line(const std::filesystem::path& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    std::uint64_t value = 0;
    if (word == name + ":" && in >> value) return value;
  }
  return 0;  // it has ended
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void share_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
  const sched_param as_is{};
  if (sched_setscheduler(0, SCHED_BATCH, &as_is) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_setscheduler");
}

on_core::on_core(unsigned which) {
  CPU_ZERO(&before_);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(which, &one);
  if (sched_getaffinity(0, sizeof before_, &before_) != 0 || sched_setaffinity(0, sizeof one, &one) != 0)
    throw std::system_error(errno, std::generic_category(), "core " + std::to_string(which));
}

on_core::~on_core() { sched_setaffinity(0, sizeof before_, &before_); }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_time() {
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) != 0) throw std::system_error(errno, std::generic_category(), "getrusage");
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double processor_time_of(int process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string skipped;
  std::getline(in, skipped, ')');  // its name may have spaces in it
  for (int i = 3; i < 14; ++i) in >> skipped;
  double user = 0, system = 0;
  in >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

bool can_run(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

int threads_of_this_process() { return static_cast<int>(status_line("/proc/self/status", "Threads")); }

std::uint64_t sleeps_of(int process) {
  std::uint64_t sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
    sum += status_line(thread.path() / "status", "voluntary_ctxt_switches");
  return sum;
}

double pace_of(const std::atomic<std::uint64_t>& count, double seconds) {
  sleep_for(seconds / 10);
  const auto count_before = count.load(std::memory_order_relaxed);
  const double before = now();
  sleep_for(seconds);
  const auto counted = count.load(std::memory_order_relaxed) - count_before;
  const double took = now() - before;
  if (counted == 0) throw std::runtime_error("nothing moved in " + std::to_string(took) + " s");
  return took / static_cast<double>(counted);
}

scratch_folder::scratch_folder(const std::string& under) {
  std::string name = under + "/interlock-bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "cannot make a folder in " + under);
  path_ = name;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;  // what cannot be removed stays in a folder for temporary files
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace bench
