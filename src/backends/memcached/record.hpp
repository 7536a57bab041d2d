// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::memcached_store {

/// What the item of a lock says: `SECRET h|e TOKEN SINCE PID` and then host, program and purpose, a line each.
struct record_head {
  claim_secret secret{};
  bool evicted = false;     ///< marked: its holder is to stop
  std::uint64_t token = 0;  ///< 0: not written down yet
  std::int64_t since = 0;   ///< milliseconds of the claimant's wall clock, for people
};
struct record : record_head {
  claim_origin from{};
};

/// Appends it, as the record of this origin.
void write_record(std::string& to, const record_head& what, const claim_origin& from);
/// Nothing: somebody else's item.
std::optional<record> read_record(std::string_view text);

}  // namespace interlock::inline v1::memcached_store
