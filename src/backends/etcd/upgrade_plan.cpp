// SPDX-License-Identifier: MIT
#include "backends/etcd/upgrade_plan.hpp"

namespace interlock::inline v1::etcd_store {
namespace {

bool give_token(const line& all, const place& mine, claim_text& to) {
  const auto before = token_of(mine);
  if (before < static_cast<std::uint64_t>(mine.kv.created)) {
    to.token_is = claim_text::source::created;
    return true;
  }
  const place* next = nullptr;
  for (const auto& each : all.places())
    if (next == nullptr && each.kv.created > mine.kv.created) next = &each;
  if (next == nullptr) {
    to.token_is = claim_text::source::modified;
    return true;
  }
  to.token_is = claim_text::source::fixed;
  to.token = before + 1;
  return to.token < static_cast<std::uint64_t>(next->kv.created);
}

}  // namespace

std::optional<upgrade_plan> plan_upgrade(const line& all, const place& mine, lock_mode mode, std::uint32_t weight,
                                         const key_range& keys, revision at) {
  if (all.others_hold(mine)) return {};
  upgrade_plan out;
  out.said = mine.said.fixed_by(mine.kv);
  out.said.state = claim_text::condition::usual;
  out.said.mode = mode;
  out.said.weight = weight;
  if (mode == lock_mode::exclusive && !give_token(all, mine, out.said)) return {};
  out.when.push_back(unchanged_since(keys, at));
  // Deletions do not show there. If the first that waits were gone, those behind it would have been let in.
  for (const auto& each : all.places()) {
    if (each.held || each.said.state == claim_text::condition::over) continue;
    out.when.push_back(created_at(each.kv.key, each.kv.created));
    break;
  }
  return out;
}

}  // namespace interlock::inline v1::etcd_store
