// SPDX-License-Identifier: MIT
#pragma once

#include "support/temporary_folder.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace interlock::test_support {

/// Lets a server of a test believe in another time of day. Give environment() to it, and move it while it runs.
class moved_clock {
 public:
  explicit moved_clock(std::chrono::milliseconds by = std::chrono::milliseconds{0});
  [[nodiscard]] std::vector<std::string> environment() const;
  void move(std::chrono::milliseconds by);  ///< from the real time, not from where it is

 private:
  [[nodiscard]] std::filesystem::path shim() const { return folder_.path() / "shim.so"; }

  temporary_folder folder_;
};

}  // namespace interlock::test_support
