// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Runs a program with its words; what it says goes to the file `log`. It dies with this process. On `core`, or where
/// this process runs.
pid_t start_program(std::vector<std::string> words, const std::string& log, std::optional<unsigned> core = {});

}  // namespace bench
