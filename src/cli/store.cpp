// SPDX-License-Identifier: MIT
#include "cli/store.hpp"

#include "cli/exit_code.hpp"
#include "cli/words.hpp"

#include <cstdlib>

namespace interlock::cli {

result<client> open_store(const arguments& got, std::string_view purpose) {
  const char* from_environment = std::getenv("INTERLOCK_STORE");
  const bool chosen = got.store || (from_environment != nullptr && *from_environment != '\0');
  if (got.store && got.store->empty())
    return failure(errc::invalid_argument, "--store is empty: leave it out, or name a store");
  client_options options;
  options.purpose = purpose;
  auto opened = client::connect(got.store.value_or(""), std::move(options));
  if (opened && !chosen && !got.quiet)
    say("store " + safe(opened->url()) +
        ": covers this host and user only; --store or $INTERLOCK_STORE choose another");
  return opened;
}

int report(const failure& why) {
  say(safe(why.message().empty() ? std::string(to_string(why.kind())) : why.message()));
  return exit_code_of(why.kind());
}

std::string who(const claim_info& claim) {
  auto text = safe(claim.purpose.empty() ? claim.program : claim.purpose);
  if (text.empty()) text = "somebody";
  if (claim.pid == 0 && claim.host.empty()) return text;
  text += " (";
  if (claim.pid != 0) text += "pid " + std::to_string(claim.pid);
  if (!claim.host.empty()) text += (claim.pid != 0 ? " on " : "on ") + safe(claim.host);
  return text + ")";
}

}  // namespace interlock::cli
