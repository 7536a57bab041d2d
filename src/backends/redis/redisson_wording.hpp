// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"
#include "backends/redis/redisson_names.hpp"
#include "backends/redis/resp.hpp"

#include <interlock/backend.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// How a question about a claim is put to the scripts, and what they answer.
namespace interlock::inline v1::redis_store::redisson {

/// The field or permit by which the claim is known in Redis.
std::string known_as(object what, const claim_secret& secret);

std::size_t keys_of_claim(object what) noexcept;
void add_keys(packet& to, object what, std::string_view name, std::string_view owner);
inline constexpr std::size_t words_of_claim = 7;
void add_words(packet& to, object what, const claim& who, std::string_view owner);

/// One claim's answer. A refusal is a failure that says which kind of object the name belongs to.
result<standing> read_standing(const reply& from, object what, std::string_view name);
result<departure> read_departure(const reply& from);

/// So many permits of one claim are as many members of a sorted set, each looked after one by one.
inline constexpr std::uint32_t most_permits = 1024;

}  // namespace interlock::inline v1::redis_store::redisson
