// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace interlock::cli {

struct demo_options {
  bool color = false;
  std::string self{};  ///< the program to start for each actor; empty: this one
};

/// `interlock demo`: five acts with real processes on an SQLite file of its own. 0 only if every act held.
int run_demo(const demo_options& options);

/// `interlock demo-actor ROLE ...`: one process of the demo. It talks to run_demo over stdin and stdout, line by line.
int run_demo_actor(const std::vector<std::string>& args);

}  // namespace interlock::cli
