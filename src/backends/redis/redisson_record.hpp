// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store::redisson {

/// Who made a claim, packed for the book: the client it can be told through, then what people want to know.
std::string pack_who(std::string_view client, const claim_origin* origin);

/// One claim as the book has it; the scripts write it (redisson_book.lua).
struct record {
  std::int64_t since = 0;  // by the server's clock, milliseconds
  std::uint64_t token = 0;
  std::uint32_t tokens = 0;
  lock_mode mode = lock_mode::exclusive;
  std::uint32_t weight = 1;
  std::string client{};
  claim_origin origin{};
};
/// Nothing, if it was not written by us.
std::optional<record> parse_record(std::string_view text);

}  // namespace interlock::inline v1::redis_store::redisson
