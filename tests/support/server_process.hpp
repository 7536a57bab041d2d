// SPDX-License-Identifier: MIT
#pragma once

#include "support/temporary_folder.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace interlock::test_support {

/// A real server run by a test, in a folder of its own. It dies with this object, and also if the test is killed.
/// Signals go to the server and to what it forked. One thread at a time.
class server_process {
 public:
  /// A program on the PATH. Does not start it yet: its arguments will speak of the folder.
  explicit server_process(std::string program);
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process();

  void start(std::vector<std::string> arguments);
  /// Asks until the answer is yes. Throws with the end of the log if the server ends first or the time is over; what
  /// the condition throws counts as no.
  void await(const std::string& what, const std::function<bool()>& condition,
             std::chrono::milliseconds within = std::chrono::seconds{30});

  void stop();    ///< politely; -9 after ten seconds
  void kill();    ///< -9, and gone when this returns
  void freeze();  ///< to its clients it looks like a silent network
  void thaw();
  void restart();  ///< kills it if it still runs; the same arguments, the same folder

  [[nodiscard]] bool running();
  [[nodiscard]] bool frozen() const noexcept { return frozen_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  /// The last lines of what it printed.
  [[nodiscard]] std::string log() const;

 private:
  void launch();
  bool ended_within(std::chrono::milliseconds patience);
  void signal(int number) const;

  temporary_folder folder_;
  std::string program_;
  std::filesystem::path executable_;
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  bool frozen_ = false;
};

}  // namespace interlock::test_support
