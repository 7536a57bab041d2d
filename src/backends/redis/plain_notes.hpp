// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/resp.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the plain layout's companion says about claims. The scripts write it; here it is read.
///
/// Fields: `t` the last token; `h` the holder: value, since (15 digits, server ms), token, a space, who; and for claims
/// that wait, were evicted, or must never come to be, under their values: a letter (w, e, x), until when (15 digits),
/// since (15 digits), who.
namespace interlock::inline v1::redis_store {

/// Who is claiming, in one string, for the scripts to keep.
std::string pack_who(const claim_origin* origin);
/// What cannot be read is left empty.
void unpack_who(std::string_view text, claim_info& into);

/// The answer of plain_show, taken apart.
struct plain_sight {
  std::string type{};   ///< of the lock's key: "string", "none", or somebody else's format
  std::string value{};  ///< whose it is
  bool ours = false;    ///< the companion knows who that is
  std::vector<std::pair<std::string, claim_info>> waiters{};  ///< by value, in order of arrival
  claim_info holder{};
};
plain_sight read_sight(const reply& from);

}  // namespace interlock::inline v1::redis_store
