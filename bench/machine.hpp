// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace bench {

/// From now on this process and its children use one core, and a thread that is woken there runs when the one that woke
/// it goes to sleep. Between two idle virtual cores a wake-up costs several times as much and flips at random; on one
/// core, without the second rule, whoever is woken interrupts the other at a random place. Both would be figures of the
/// machine, not ours.
void share_one_core();

/// While it lives, the calling thread and those it starts use another core. Throws if there is no such core.
class on_core {
 public:
  explicit on_core(unsigned which);
  on_core(const on_core&) = delete;
  on_core& operator=(const on_core&) = delete;
  ~on_core();

 private:
  cpu_set_t before_;
};

/// Where a server and its client each get a core of their own.
inline constexpr unsigned server_core = 0, client_core = 1;
/// A folder that is in memory, on most machines.
inline constexpr const char* memory_folder = "/dev/shm";

/// Seconds on a clock that only runs forwards.
double now();
/// Processor time of this process, all threads, in seconds.
double processor_time();
/// The same of another process; 0 if it has ended.
double processor_time_of(int process);
void sleep_for(double seconds);
/// Is there such a program in $PATH?
bool can_run(const std::string& program);
/// As the kernel counts them.
int threads_of_this_process();
/// How often threads of `process` went to sleep of their own accord: what wakes up without a reason shows here.
std::uint64_t sleeps_of(int process);

/// Seconds per count, once the first moments are over. Throws if nothing was counted.
double pace_of(const std::atomic<std::uint64_t>& count, double seconds);

/// A fresh folder, gone with this object.
class scratch_folder {
 public:
  explicit scratch_folder(const std::string& under);
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder();
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace bench
