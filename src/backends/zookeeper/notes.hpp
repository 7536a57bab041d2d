// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What nodes say in their data, where other libraries leave it to us.
namespace interlock::inline v1::zookeeper_store {

/// In a contender's own node: who it is.
struct claim_notes {
  std::string host{}, program{}, purpose{};
  std::int64_t pid = 0;
  milliseconds lease{0};
  std::uint32_t permits = 1, limit = 1;
  std::uint64_t token = 0;   ///< of a permit; 0: the change that made the node
  std::int32_t renamed = 0;  ///< its token is the change that set the data to this version; 0: the one that made it
};
std::string write_notes(const claim_notes& from);
/// Nothing: it was not written by interlock.
std::optional<claim_notes> read_notes(std::string_view data);
claim_notes notes_of(const claim& who);

/// What Curator's Revoker writes into a holder's node to ask it to let go.
inline constexpr std::string_view revoked = "__REVOKE__";

/// In a lock's own node, above the contenders.
struct lock_notes {
  std::uint64_t token = 0;  ///< of the last exclusive holder that let go
  std::string broken{};     ///< whom an administrator removed last, in hexadecimal digits
};
std::string write_notes(const lock_notes& from);
lock_notes read_lock_notes(std::string_view data);

}  // namespace interlock::inline v1::zookeeper_store
