// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/node.hpp"
#include "core/quorum_machine.hpp"

#include <interlock/clock.hpp>

#include <optional>
#include <string>
#include <vector>

namespace interlock::inline v1::quorum_store {

/// Which nodes may vote. A node that was restarted and has forgotten what it held would let a second holder in: its yes
/// does not count until every lease that it may have forgotten is over.
///
/// Nodes are marked with the number of their run when they are first used. One that has no such mark, or that of an
/// earlier run, was restarted, unless none has one: then the deployment is new. Pure: the time goes in.
class roster {
 public:
  roster(unsigned nodes, milliseconds delay) : nodes_(nodes), delay_(delay) {}

  /// A node has said what it remembers. Returned: nodes that are to be marked now.
  core::node_set heard(unsigned node, const node_memory& what, instant now);
  /// Nodes whose time has come: to be marked now.
  core::node_set timer(instant now);
  [[nodiscard]] instant due() const noexcept;
  /// So many have been heard that one may judge: those that remember nothing are new, if nobody remembers anything.
  core::node_set settle(instant now);

  /// Nodes that remember nothing, while others do. Somebody may just be marking them.
  [[nodiscard]] core::node_set contested() const noexcept;

  /// Whose yes does not count, for a claim of this lease.
  [[nodiscard]] core::node_set shut_out(instant now, milliseconds lease) const noexcept;
  [[nodiscard]] bool known(unsigned node) const noexcept { return nodes_[node].is != state::unknown; }
  [[nodiscard]] const std::string& run_id(unsigned node) const noexcept { return nodes_[node].run_id; }

 private:
  enum class state : std::uint8_t { unknown, blank /* remembers nothing: new, or restarted */, doubtful, trusted };
  struct entry {
    state is = state::unknown;
    std::string run_id{};
    instant born{};  // not before
  };
  [[nodiscard]] bool judge_blank(entry& one, instant now);
  std::vector<entry> nodes_;
  milliseconds delay_;
  bool settled_ = false;
  bool founded_ = false;  // nobody remembered anything: it began with us
  instant founded_at_{};
};

}  // namespace interlock::inline v1::quorum_store
