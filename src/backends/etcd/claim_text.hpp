// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/wire.hpp"

#include <interlock/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::etcd_store {

/// What stands in a claim's key, one line of words that people can read:
///
///     interlock1 x <id> <weight>/<capacity> <token> <state> <since> <lease> <pid> <host> <program> <purpose>
///
/// Other programs' keys (Go writes nothing, or a candidate's value) have none of it, and count as writers.
struct claim_text {
  enum class condition : std::uint8_t {
    usual,
    upgrading,  ///< a reader that waits to be the only one
    evicted,    ///< told to stop; keeps the lock shut until its lease is over
    over,       ///< evicted, and in nobody's way
  };
  /// A revision is known only when it has been written, so "this very write" can be said without naming it.
  enum class source : std::uint8_t { created, modified, fixed };

  claim_id id{};
  lock_mode mode = lock_mode::exclusive;
  std::uint32_t weight = lock_capacity, capacity = lock_capacity;
  source token_is = source::created;
  std::uint64_t token = 0;  ///< if fixed; 0: not known yet, of a reader that has not been let in
  condition state = condition::usual;
  revision upgrading_since = 0;  ///< 0: the key's last write
  std::int64_t since = 0;        ///< wall clock, for people; decides nothing
  std::int64_t lease = 0;        ///< as asked for, in milliseconds
  claim_origin origin{};

  [[nodiscard]] std::string text() const;
  static std::optional<claim_text> read(std::string_view text);

  /// With "this very write" replaced by its revision, so that it can be written again.
  [[nodiscard]] claim_text fixed_by(const key_value& written) const;
};

}  // namespace interlock::inline v1::etcd_store
