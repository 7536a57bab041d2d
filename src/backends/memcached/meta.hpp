// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Memcached's meta commands: https://github.com/memcached/memcached/blob/master/doc/protocol.txt
namespace interlock::inline v1::memcached_store {

/// One reply.
struct meta_reply {
  enum class word : std::uint8_t {
    done,        ///< HD
    value,       ///< VA
    not_stored,  ///< NS
    changed,     ///< EX: the number differs
    missing,     ///< NF, EN
    error,       ///< ERROR, CLIENT_ERROR, SERVER_ERROR: text
  };
  word is = word::error;
  std::string data{};     ///< of a value; what an error says
  std::uint64_t cas = 0;  ///< flag c
  std::int64_t left = 0;  ///< flag t: seconds, -1: for ever
};

/// What the bytes begin with.
struct meta_parse {
  enum class outcome : std::uint8_t { complete, partial, malformed };
  outcome is = outcome::partial;
  std::size_t used = 0;
  meta_reply reply{};
};
meta_parse parse_reply(std::string_view bytes);

/// What a store does with one key. Seconds as `expiry_of` makes them.
namespace meta {
std::string create(std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags);
/// Only if nobody has changed it since.
std::string replace(std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags,
                    std::uint64_t cas);
std::string remove(std::string_view key, std::uint64_t cas);
std::string read(std::string_view key);
/// So many more; begins at `first` if there is none.
std::string count(std::string_view key, std::uint64_t more, std::uint64_t first);
}  // namespace meta

/// Whole seconds, and one more: an item that is to live two seconds lives between one and two.
std::int64_t expiry_of(milliseconds lease) noexcept;

/// The keys of a name. Memcached's have at most 250 bytes, no blanks and no control characters: other names are cut,
/// and told apart by a hash.
bool is_plain(char c) noexcept;  ///< may stand in a key
std::string lock_key(std::string_view name);
std::string token_key(std::string_view name);

}  // namespace interlock::inline v1::memcached_store
