// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/meta.hpp"
#include "backends/memcached/record.hpp"

#include <interlock/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::memcached_store {

/// How a lock is written down.
class layout {
 public:
  explicit layout(bool tooz) noexcept : tooz_(tooz) {}

  /// tooz has the owner in an item, and nothing else: no token, no mark of an eviction.
  [[nodiscard]] bool is_bare() const noexcept { return tooz_; }
  /// invalid_argument: there is no such key.
  [[nodiscard]] result<void> check(std::string_view name) const;
  [[nodiscard]] item_key key(std::string_view name) const;
  /// What the item says, appended.
  void write(std::string& to, const record_head& what, const claim_origin& from) const;
  /// Somebody else's: nothing.
  [[nodiscard]] std::optional<record> read(std::string_view text) const;
  /// tooz marks texts that it is to take as they are.
  [[nodiscard]] unsigned flags() const noexcept { return tooz_ ? 1 : 0; }

 private:
  bool tooz_;
};

}  // namespace interlock::inline v1::memcached_store
