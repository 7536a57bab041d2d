// SPDX-License-Identifier: MIT
#pragma once

#include "support/agent.hpp"

#include <string>
#include <vector>

namespace interlock::test_support {

struct command_outcome {
  int status = 0;
  std::string text{};
};

/// `interlock WORDS...` on this store, to its end.
inline command_outcome run_command(const std::string& store, const std::vector<std::string>& words) {
  std::vector<std::string> all{"INTERLOCK_STORE=" + store, INTERLOCK_COMMAND};
  all.insert(all.end(), words.begin(), words.end());
  agent one("/usr/bin/env", all);
  command_outcome out;
  while (const auto line = one.line()) out.text += *line + "\n";
  out.status = one.wait();
  return out;
}

}  // namespace interlock::test_support
