// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace interlock::cli {
namespace {

constexpr std::size_t fewest_digits = 6;

bool is_handle(std::string_view text) {
  return text.size() >= fewest_digits && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

struct candidate {
  claim_info claim;
  bool holding;
};

std::vector<candidate> matches(const lock_info& lock, std::string_view handle) {
  std::vector<candidate> out;
  for (const auto& claim : lock.holders)
    if (to_string(claim.id).starts_with(handle)) out.push_back({claim, true});
  for (const auto& claim : lock.waiters)
    if (to_string(claim.id).starts_with(handle)) out.push_back({claim, false});
  return out;
}

std::string told(std::string_view name, const candidate& broken, bool force) {
  if (!broken.holding) return "removed " + who(broken.claim) + " from the queue for " + safe(name);
  if (force)
    return "ended the claim of " + who(broken.claim) + " on " + safe(name) +
           ": others can have it now; until that holder has noticed, only the fencing token protects";
  return "told " + who(broken.claim) + " to stop: " + safe(name) + " passes on when its lease is over, in at most " +
         spoken(broken.claim.lease_left);
}

}  // namespace

int break_command(const arguments& got) {
  const auto name = got.words[0];
  if (!is_handle(*got.handle))
    return report(failure(errc::invalid_argument, "--handle \"" + safe(got.handle->substr(0, 60)) +
                                                      "\" is not 6 to 32 digits out of 0-9 and a-f"));
  auto locks = open_store(got);
  if (!locks) return report(locks.error());
  const auto found = matches(locks->inspect(name), *got.handle);
  if (found.size() > 1)
    return report(failure(errc::invalid_argument, "--handle " + std::string(*got.handle) + " fits " +
                                                      std::to_string(found.size()) + " claims on " + safe(name) +
                                                      ": give more digits"));
  const bool broken = !found.empty() && (got.force ? locks->evict_by_force(name, found.front().claim.id)
                                                   : locks->evict(name, found.front().claim.id));
  if (got.json) {
    json_writer out;
    out.begin_object().key("name").text(name).key("broken").boolean(broken).key("id");
    found.empty() ? out.null() : out.text(to_string(found.front().claim.id));
    out.key("passes_on_within_ms").number(broken && !got.force ? found.front().claim.lease_left.count() : 0);
    print(out.end_object().str() + "\n");
  }
  if (!broken) {
    say("nothing broken: " + safe(name) + " has no claim " + std::string(*got.handle) + " (any more)");
    return exit_nothing;
  }
  if (!got.quiet) say(told(name, found.front(), got.force));
  return exit_ok;
}

}  // namespace interlock::cli
