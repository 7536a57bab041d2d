// SPDX-License-Identifier: MIT
#include "backends/memcached/layout.hpp"

#include "backends/memcached/meta.hpp"

#include <algorithm>

namespace interlock::inline v1::memcached_store {
namespace {

// tooz/drivers/memcached.py
constexpr std::string_view tooz_prefix = "__TOOZ_LOCK_";
constexpr std::size_t longest_key = 250;

}  // namespace

result<void> layout::check(std::string_view name) const {
  if (!tooz_) return {};
  const bool plain = std::all_of(name.begin(), name.end(), is_plain);
  if (plain && tooz_prefix.size() + name.size() <= longest_key) return {};
  return failure(errc::invalid_argument, "with layout=tooz a name has at most " +
                                             std::to_string(longest_key - tooz_prefix.size()) +
                                             " bytes, and neither blanks nor control characters");
}

std::string layout::key(std::string_view name) const {
  return tooz_ ? std::string(tooz_prefix) + std::string(name) : lock_key(name);
}

// The name of a member of tooz' group may be anything; a claim's own secret is nobody else's.
std::string layout::value(const record& what) const {
  return tooz_ ? to_string(claim_id(what.secret.bytes())) : write_record(what);
}

std::optional<record> layout::read(std::string_view text) const {
  if (!tooz_) return read_record(text);
  const auto id = claim_id::parse(text);
  if (!id) return {};
  record out;
  out.secret = claim_secret(id->bytes());
  return out;
}

}  // namespace interlock::inline v1::memcached_store
