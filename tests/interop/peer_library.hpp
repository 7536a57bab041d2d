// SPDX-License-Identifier: MIT
#pragma once

#include "support/agent.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace interlock::interop {

/// Another lock library in a process of its own; see plain/redis_py_agent.py for what it understands.
struct peer_library {
  std::string name;
  std::vector<std::string> command;  ///< the verb and its arguments follow
  std::string needs{};               ///< a file that is there if it is installed

  [[nodiscard]] test_support::agent start(const std::string& verb, const std::vector<std::string>& arguments) const {
    std::vector<std::string> all(command.begin() + 1, command.end());
    all.push_back(verb);
    all.insert(all.end(), arguments.begin(), arguments.end());
    return {command.front(), all};
  }
  [[nodiscard]] bool installed() const { return needs.empty() || std::filesystem::exists(needs); }
  friend std::ostream& operator<<(std::ostream& out, const peer_library& one) { return out << one.name; }
};

inline std::string script(const std::string& name) {
  return std::string(INTERLOCK_SOURCE_DIR) + "/tests/interop/plain/" + name;
}

inline peer_library redis_py() { return {"redis_py", {"/usr/bin/python3", script("redis_py_agent.py")}}; }

/// node-redlock 4 or 5, from where ./dev puts Node's packages.
inline peer_library redlock(const std::string& which) {
  const auto packages = std::string(INTERLOCK_SOURCE_DIR) + "/build/interop/plain/node_modules";
  return {which,
          {"/usr/bin/env", "NODE_PATH=" + packages, "node", script("redlock_agent.cjs"), which},
          packages + "/" + which};
}

}  // namespace interlock::interop
