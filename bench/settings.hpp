// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace bench {

/// How a run is done. A case whose nature needs longer than one measurement takes a stated multiple of `seconds`.
struct settings {
  int rounds = 5;
  double seconds = 1.0;   ///< one measurement of one side
  std::string command{};  ///< the interlock command; empty: not built
  std::string folder{};   ///< where database files go
  std::string peers{};    ///< where other lock libraries are; empty: they are not measured
  std::vector<std::string> only{};
  bool check = false;
  bool json = false;
};

/// What the words of the command line ask for.
struct request {
  enum class what { run, list, help, refuse };
  what is = what::run;
  settings with{};
  std::string why{};  ///< refuse: one line
};
request read_arguments(int count, char** words);

}  // namespace bench
