// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// How Redisson spells things, and how interlock spells what it keeps beside them. Redisson's manual:
/// https://redisson.pro/docs/data-and-services/locks-and-synchronizers/
namespace interlock::inline v1::redis_store::redisson {

/// The kinds of object we can be one party of.
enum class object : std::uint8_t { lock, fenced, rw, fair, semaphore };
std::string_view to_string(object what) noexcept;

/// Puts a name's companions into the name's own cluster slot: the name itself if it has a brace, else in braces.
std::string tag(std::string_view name);

/// A claim's owner as Redisson writes it, `UUID:thread`, and back. Each of the secret's bits is in it, so that whoever
/// knows the secret, in whatever process, is the owner. An owner of Redisson's own may read as a secret, too.
std::string owner_of(const claim_secret& secret);
std::optional<claim_secret> secret_of(std::string_view owner) noexcept;
/// The public handle of whoever is in a Redisson object: a claim of ours has the one its guard has.
claim_id id_of(std::string_view owner) noexcept;
/// A permit is sixteen raw bytes. A claim's first one is its secret, the others are counted up from there.
std::string nth_permit(std::string_view first, std::uint32_t n);
claim_secret secret_of_permit(std::string_view permit) noexcept;

/// Where a release is told. A fair lock has one for each that waits.
std::string channel(object what, std::string_view name, const claim_secret& secret);
/// Where one interlock client is told that a claim of its was evicted.
std::string client_channel(std::string_view client);

/// Where an RCountDownLatch's opening is told. Always in braces, whatever the name has: not in the name's slot then.
std::string latch_channel(std::string_view name);

/// Keys that Redisson reads and writes; the lock's own key is the name as it is.
std::string queue_key(std::string_view name);
std::string deadlines_key(std::string_view name);
std::string token_key(std::string_view name);
std::string permits_key(std::string_view name);
std::string timeout_key(std::string_view name, std::string_view owner);

/// Keys that only interlock reads and writes. Unlike Redisson's they differ for `a` and `{a}`.
std::string book_key(std::string_view name);
std::string line_key(std::string_view name);
std::string limit_key(std::string_view name);
std::string tomb_key(std::string_view name, std::string_view owner);
std::string marks_key(std::string_view name);
/// The name whose book this is; nothing if it is no book.
std::optional<std::string> name_of_book(std::string_view key);
/// Finds all books. Two kinds of names, two patterns.
inline constexpr std::string_view book_patterns[] = {"ilk1:r:b:*", "ilk1:R:b:*"};

}  // namespace interlock::inline v1::redis_store::redisson
