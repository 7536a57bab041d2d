// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"

#include <string>
#include <vector>

namespace interlock::cli {

/// The command may come as two programs: a small one that starts fast and has the stores without a server, and one with
/// all stores. The small one hands on to the other what it cannot do itself. A call by its words, before anything is
/// opened for it.
class handed_over {
 public:
  /// Keeps the words: parse_arguments blots passwords out of argv, and the other program needs them.
  explicit handed_over(int argc, char** argv);

  /// Becomes the other program if the call is for it, and does not return then. A failure says where that program
  /// should have been.
  result<void> leave_if_needed(const arguments& got);

 private:
  std::vector<std::string> words_;
};

}  // namespace interlock::cli
