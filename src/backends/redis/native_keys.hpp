// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Where the native layout keeps a name: `ilk1:{orders/42}:b` and its neighbours :c and :l. The name stands in
/// braces, so that all three are in one slot of a cluster; braces and percent signs in it, blanks and control
/// characters are written as %7B and so on.
namespace interlock::inline v1::redis_store::native {

/// `name` as it stands between the braces.
void append_encoded(std::string& to, std::string_view name);

/// The key of the book.
void book_key(std::string& to, std::string_view name);
/// The same in pieces; `room` is for a name that is written otherwise in a key.
command_text::pieces book_key_pieces(std::string_view name, std::string& room);

/// The question of a script about one name or more. A cluster wants to be told all keys, else it cannot tell that some
/// of them are just moving to another server; elsewhere the scripts find the others beside the book, which is cheaper.
enum class told : std::uint8_t { book = 1, all_keys = 3 };
inline packet question(const script& what, told keys, std::size_t names, std::size_t arguments) {
  return packet(what, {}, names * static_cast<std::size_t>(keys), arguments);
}
/// To be called for each name, before the arguments.
void add_keys(packet& to, std::string_view name, told keys);

/// The name whose book this is; nothing if it is no such key.
std::optional<std::string> name_of_book(std::string_view key);

/// Which books SCAN must list to find the names with this prefix.
std::string book_pattern(std::string_view prefix);

}  // namespace interlock::inline v1::redis_store::native
