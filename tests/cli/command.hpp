// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

/// Runs the real command, as a shell would.
namespace cli_test {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

struct ended {
  int wait_status = 0;
  std::string out{}, err{};
  std::chrono::milliseconds took{};

  /// As a shell's $?: 128 + n after signal n.
  [[nodiscard]] int code() const;
  [[nodiscard]] int signal() const;  ///< 0: it exited
};

struct launch {
  std::map<std::string, std::optional<std::string>> environment{};  ///< on top of ours; unset: removed
  bool own_group = false;                                           ///< as a shell's job has
  int status_fd = -1;                                               ///< becomes descriptor 9 of the command
};

/// A program under way; killed when it goes out of scope.
class process {
 public:
  explicit process(const strings& argv, const launch& how = {});
  process(process&& other) noexcept;
  process& operator=(process&&) = delete;
  ~process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }
  /// Waits until it is stopped; false: it has ended, or goes on and on.
  bool wait_stopped();
  /// Waits for its end and for the end of its output; fails the test and kills it after `most`.
  ended wait(std::chrono::milliseconds most = 20s);

 private:
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

std::string read_file(const std::string& path);
/// 'Z' for a zombie, 0 if there is no such process.
char state_of(pid_t pid);
inline bool dead(pid_t pid) { return state_of(pid) == 0 || state_of(pid) == 'Z'; }
/// Children of a process by their name (comm).
std::optional<pid_t> child_named(pid_t parent, std::string_view name);

template <class Predicate>
[[nodiscard]] bool eventually(Predicate holds, std::chrono::milliseconds most = 10s) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    ::usleep(2000);
  }
  return true;
}

/// A folder and a store of its own for each test.
class command_test : public testing::Test {
 protected:
  command_test();
  ~command_test() override;

  [[nodiscard]] std::string file(std::string_view name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string read(std::string_view name) const;
  void write(std::string_view name, std::string_view text, int mode = 0644) const;
  [[nodiscard]] pid_t pid_in(std::string_view name) const;
  [[nodiscard]] std::string url() const { return "sqlite:" + file("locks.db"); }

  /// `interlock ARGUMENTS...` on this test's store.
  [[nodiscard]] process start(const strings& arguments, launch how = {}) const;
  [[nodiscard]] ended interlock(const strings& arguments, const launch& how = {}) const {
    return start(arguments, how).wait();
  }
  /// `interlock run NAME OPTIONS -- sh -c SCRIPT`; the script's folder is the test's.
  [[nodiscard]] process start_script(std::string_view name, const strings& options, const std::string& script,
                                     const launch& how = {}) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace cli_test
