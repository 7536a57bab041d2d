// SPDX-License-Identifier: MIT
#include "backends/quorum/roster.hpp"

#include <algorithm>

namespace interlock::inline v1::quorum_store {

using core::node_set;

node_set roster::heard(unsigned node, const node_memory& what, instant now) {
  auto& one = nodes_[node];
  if (one.is == state::trusted && one.run_id == what.run_id) return {};  // only the connection had broken
  const bool seen = settled_ && !one.run_id.empty();
  one.run_id = what.run_id;
  // Uptime is told in whole seconds, rounded down: it was not born before this.
  one.born = now - what.up_for - std::chrono::seconds{1};
  if (!what.readable || what.run_id.empty() || what.mark == what.run_id) {
    one.is = state::trusted;
    return {};
  }
  if (!what.mark.empty()) {  // restarted, with what it had on its disk
    one.is = what.synced ? state::trusted : state::doubtful;
    return one.is == state::trusted ? node_set::one(node) : node_set{};
  }
  one.is = seen ? state::doubtful : state::blank;
  return settled_ ? settle(now) : node_set{};
}

node_set roster::contested() const noexcept {
  node_set blank;
  bool others = false;
  for (unsigned i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].is == state::blank) blank |= node_set::one(i);
    others = others || nodes_[i].is == state::trusted || nodes_[i].is == state::doubtful;
  }
  return others ? blank : node_set{};
}

node_set roster::settle(instant now) {
  settled_ = true;
  const bool any = std::any_of(nodes_.begin(), nodes_.end(),
                               [](const entry& one) { return one.is == state::trusted || one.is == state::doubtful; });
  if (!any && !founded_) {
    founded_ = true;
    founded_at_ = now;
  }
  node_set mark;
  for (unsigned i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].is == state::blank && judge_blank(nodes_[i], now)) mark |= node_set::one(i);
  return mark | timer(now);
}

// One that ran already when we founded the deployment was only late to answer.
bool roster::judge_blank(entry& one, instant now) {
  const bool from_the_start = founded_ && (one.born <= founded_at_ || now == founded_at_);
  one.is = from_the_start ? state::trusted : state::doubtful;
  return from_the_start;
}

node_set roster::timer(instant now) {
  node_set mark;
  for (unsigned i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].is != state::doubtful || now < nodes_[i].born + delay_ + std::chrono::seconds{1}) continue;
    nodes_[i].is = state::trusted;
    mark |= node_set::one(i);
  }
  return mark;
}

instant roster::due() const noexcept {
  auto first = instant::max();
  for (const auto& one : nodes_)
    if (one.is == state::doubtful) first = std::min(first, one.born + delay_ + std::chrono::seconds{1});
  return first;
}

node_set roster::shut_out(instant now, milliseconds lease) const noexcept {
  node_set out;
  for (unsigned i = 0; i < nodes_.size(); ++i) {
    const auto& one = nodes_[i];
    const bool counts =
        one.is == state::trusted ||
        (one.is == state::doubtful && now >= one.born + std::max(lease, delay_) + std::chrono::seconds{1});
    if (!counts) out |= node_set::one(i);
  }
  return out;
}

}  // namespace interlock::inline v1::quorum_store
