// SPDX-License-Identifier: MIT
#include "api/builtin_stores.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json.hpp"
#include "cli/words.hpp"
#include "core/registry.hpp"

#include <string>

namespace interlock::cli {

int version_command(const arguments& got) {
  api::register_builtin_stores();
  const auto schemes = core::known_schemes();
  if (got.json) {
    json_writer out;
    out.begin_object().key("version").text(INTERLOCK_VERSION).key("stores").begin_array();
    for (const auto& scheme : schemes) out.text(scheme);
    print(out.end_array().end_object().str() + "\n");
    return exit_ok;
  }
  std::string text = "interlock " INTERLOCK_VERSION "; stores:";
  for (const auto& scheme : schemes) text += " " + scheme;
  print(text + "\n");
  return exit_ok;
}

}  // namespace interlock::cli
