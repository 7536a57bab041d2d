// SPDX-License-Identifier: MIT
#pragma once

#include "support/agent.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
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

/// A library for Go; `agent` is the program that redsync/install builds.
inline peer_library for_go(const std::string& which, const std::string& agent) { return {which, {agent, which}}; }

/// Those of ./dev test, and those for Go if redsync/run has built them.
inline std::vector<peer_library> plain_libraries() {
  std::vector<peer_library> all{redis_py(), redlock("redlock4"), redlock("redlock5")};
  if (const char* agent = std::getenv("INTERLOCK_GO_AGENT"); agent != nullptr)
    for (const char* which : {"redsync", "redislock"}) all.push_back(for_go(which, agent));
  return all;
}

}  // namespace interlock::interop
