// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/words.hpp"

#include <algorithm>
#include <iterator>

namespace interlock::cli {

int help_command(const arguments& got) {
  if (got.words.empty()) {
    print(help_overview());
    return exit_ok;
  }
  const auto* found = std::find(std::begin(verb_names), std::end(verb_names), got.words[0]);
  if (found == std::end(verb_names)) {
    say("no help for \"" + safe(got.words[0].substr(0, 60)) + "\"; `interlock help` lists the verbs");
    return exit_usage;
  }
  print(help_for(static_cast<verb>(found - std::begin(verb_names))));
  return exit_ok;
}

}  // namespace interlock::cli
