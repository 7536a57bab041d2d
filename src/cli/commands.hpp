// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"

/// The verbs. Each returns the exit code; what it throws, main reports.
namespace interlock::cli {

int run_command(const arguments& got);  // run and try
int ls_command(const arguments& got);
int show_command(const arguments& got);
int break_command(const arguments& got);
int doctor_command(const arguments& got);
int schema_command(const arguments& got);
int version_command(const arguments& got);
int help_command(const arguments& got);

}  // namespace interlock::cli
