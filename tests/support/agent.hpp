// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace interlock::test_support {

/// A process run by a test, tests/agent unless told otherwise: killed, frozen, talked to by lines. Killed for good with
/// this object.
class agent {
 public:
  explicit agent(std::vector<std::string> arguments);
  agent(std::string program, std::vector<std::string> arguments);
  agent(agent&& other) noexcept;
  agent& operator=(agent&&) = delete;
  ~agent();

  /// The next line it prints; nothing if none comes in time or it has ended.
  std::optional<std::string> line(std::chrono::milliseconds within = std::chrono::seconds{20});
  /// Skips lines until one begins so; returns what follows in that line.
  std::optional<std::string> after(const std::string& beginning,
                                   std::chrono::milliseconds within = std::chrono::seconds{20});
  void say(const std::string& line) const;
  void end_input();

  void kill();  ///< -9, and gone when this returns
  void freeze() const;
  void thaw() const;
  /// The exit status; 128 + signal if a signal ended it.
  int wait();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  void start(const std::string& program, const std::vector<std::string>& arguments);
  void reap() noexcept;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  int status_ = 0;
  std::string read_;
};

}  // namespace interlock::test_support
