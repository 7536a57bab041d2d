// SPDX-License-Identifier: MIT
#include "cli/claims.hpp"

#include "cli/json.hpp"

#include <vector>

namespace interlock::cli {
namespace {

void write_claims(json_writer& out, const lock_info& lock, const std::vector<claim_info>& claims) {
  out.begin_array();
  for (const auto& claim : claims) {
    out.begin_object();
    out.key("id").text(to_string(claim.id)).key("mode").text(mode_text(lock, claim));
    out.key("permits").number(claim.permits).key("token");
    claim.token ? out.text(to_string(*claim.token)) : out.null();
    out.key("host").text(claim.host).key("pid").number(claim.pid).key("program").text(claim.program);
    out.key("purpose").text(claim.purpose);
    out.key("age_ms").number(claim.age.count()).key("lease_left_ms");
    claim.lease_left == milliseconds::max() ? out.null() : out.number(claim.lease_left.count());
    out.end_object();
  }
  out.end_array();
}

}  // namespace

void write_lock(json_writer& out, const lock_info& lock) {
  out.begin_object().key("name").text(lock.name).key("limit").number(lock.limit);
  out.key("holders");
  write_claims(out, lock, lock.holders);
  out.key("waiters");
  write_claims(out, lock, lock.waiters);
  out.end_object();
}

std::string mode_text(const lock_info& lock, const claim_info& claim) {
  return lock.limit > 1 ? "permits" : std::string(to_string(claim.mode));
}

std::string permits_text(const lock_info& lock) {
  if (lock.limit <= 1) return std::to_string(lock.holders.size());
  std::uint64_t held = 0;
  for (const auto& claim : lock.holders) held += claim.permits;
  return std::to_string(held) + "/" + std::to_string(lock.limit);
}

}  // namespace interlock::cli
