// SPDX-License-Identifier: MIT
#include "cli/claims.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"

#include <string>

namespace interlock::cli {
namespace {

std::string line(const lock_info& lock, const claim_info& claim, bool holding) {
  std::string out = holding ? "  holds  " : "  waits  ";
  out += to_string(claim.id) + "  " + mode_text(lock, claim);
  if (lock.limit > 1) out += " " + std::to_string(claim.permits) + "/" + std::to_string(lock.limit);
  out += "  " + who(claim) + "  for " + spoken(claim.age);
  if (claim.token) out += ", token " + to_string(*claim.token);
  if (claim.lease_left == milliseconds::max()) return out + ", without a lease: it ends when it is released\n";
  return out + ", lease ends in " + spoken(claim.lease_left) + " unless renewed\n";
}

std::string described(const lock_info& lock) {
  if (lock.holders.empty() && lock.waiters.empty()) return safe(lock.name) + ": free\n";
  auto out =
      safe(lock.name) + ": held " + permits_text(lock) + ", waiting " + std::to_string(lock.waiters.size()) + "\n";
  for (const auto& claim : lock.holders) out += line(lock, claim, true);
  for (const auto& claim : lock.waiters) out += line(lock, claim, false);
  return out;
}

}  // namespace

int show_command(const arguments& got) {
  auto locks = open_store(got);
  if (!locks) return report(locks.error());
  auto lock = locks->inspect(got.words[0]);
  lock.name = got.words[0];
  if (got.json) {
    json_writer out;
    write_lock(out, lock);
    print(out.str() + "\n");
  } else {
    print(described(lock));
  }
  return exit_ok;
}

}  // namespace interlock::cli
