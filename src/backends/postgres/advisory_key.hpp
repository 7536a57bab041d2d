// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace interlock::inline v1::postgres_store {

/// What an advisory lock is called: a number, or two. The two kinds never meet.
struct advisory_key {
  std::int64_t value = 0;  ///< of two: the first is the upper half
  bool is_pair = false;
  friend bool operator==(const advisory_key&, const advisory_key&) = default;
};

/// How a number is made of a name: interlock's own way, which is django-pglock's, and those of other libraries.
enum class key_rule : std::uint8_t {
  sha256,
  django_pglocks,
  flyway,
  medallion,
  number,
  rails,
  symfony,
  tooz,
  with_advisory_lock,
};

/// As in `keys=...`; nothing: there is no such rule.
std::optional<key_rule> parse_key_rule(std::string_view text) noexcept;
/// A failure: the rule has no key for such a name.
result<advisory_key> advisory_key_of(std::string_view name, key_rule by);

}  // namespace interlock::inline v1::postgres_store

template <>
struct std::hash<interlock::postgres_store::advisory_key> {
  std::size_t operator()(const interlock::postgres_store::advisory_key& key) const noexcept {
    return std::hash<std::int64_t>{}(key.value ^ (key.is_pair ? -1 : 0));
  }
};
