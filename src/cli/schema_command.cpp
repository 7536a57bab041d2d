// SPDX-License-Identifier: MIT
#include "api/builtin_stores.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"
#include "core/registry.hpp"

#include <string>

namespace interlock::cli {

int schema_command(const arguments& got) {
  const auto url = parse_url(*got.store);
  if (!url) return report(url.error());
  api::register_builtin_stores();
  const auto make = core::find_schema(url->scheme);
  if (!make) {
    std::string known;
    for (const auto& one : core::schemes_with_schema()) known += (known.empty() ? "" : ", ") + one;
    return report(failure(errc::invalid_argument, "\"" + url->scheme + "\" is no store with tables; these are: " +
                                                      (known.empty() ? "none" : known)));
  }
  const auto text = make(*url);
  if (!text) return report(text.error());
  print(*text);
  return exit_ok;
}

}  // namespace interlock::cli
