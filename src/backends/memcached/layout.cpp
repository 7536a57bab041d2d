// SPDX-License-Identifier: MIT
#include "backends/memcached/layout.hpp"

#include "core/hex.hpp"

#include <algorithm>

namespace interlock::inline v1::memcached_store {
namespace {

// tooz/drivers/memcached.py
constexpr std::string_view tooz_prefix = "__TOOZ_LOCK_";

}  // namespace

result<void> layout::check(std::string_view name) const {
  if (!tooz_) return {};
  const bool plain = std::all_of(name.begin(), name.end(), is_plain);
  if (plain && tooz_prefix.size() + name.size() <= item_key::longest) return {};
  return failure(errc::invalid_argument, "with layout=tooz a name has at most " +
                                             std::to_string(item_key::longest - tooz_prefix.size()) +
                                             " bytes, and neither blanks nor control characters");
}

item_key layout::key(std::string_view name) const {
  if (!tooz_) return lock_key(name);
  item_key out;
  return (out += tooz_prefix) += name;
}

// The name of a member of tooz' group may be anything; a claim's own secret is nobody else's.
void layout::write(std::string& to, const record_head& what, const claim_origin& from) const {
  if (!tooz_) return write_record(to, what, from);
  const auto id = core::hex_of(what.secret.bytes());
  to.append(id.data(), id.size());
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
