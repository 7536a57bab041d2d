// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace interlock::inline v1 {

/// Rises with every exclusive grant of a name. Hand it to whatever you write to; what has seen a higher one refuses
/// you.
///
/// In [1, 2^63), so it fits BIGINT and Java's long. A shared grant's token is not below that of the last exclusive
/// grant, and below that of the next.
class fencing_token {
 public:
  explicit constexpr fencing_token(std::uint64_t value) noexcept : value_(value) {}
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  friend constexpr auto operator<=>(fencing_token, fencing_token) noexcept = default;
  /// Decimal, as INTERLOCK_TOKEN and the SQL helpers want it.
  friend std::string to_string(fencing_token token) { return std::to_string(token.value_); }

 private:
  std::uint64_t value_;
};

}  // namespace interlock::inline v1
