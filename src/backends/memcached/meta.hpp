// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Memcached's meta commands: https://github.com/memcached/memcached/blob/master/doc/protocol.txt
namespace interlock::inline v1::memcached_store {

/// One reply. The view is of the bytes it was read from.
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
  std::string_view data{};  ///< of a value; what an error says
  std::uint64_t cas = 0;    ///< flag c
  std::int64_t left = 0;    ///< flag t: seconds, -1: for ever
};

/// What the bytes begin with.
struct meta_parse {
  enum class outcome : std::uint8_t { complete, partial, malformed };
  outcome is = outcome::partial;
  std::size_t used = 0;
  meta_reply reply{};
};
meta_parse parse_reply(std::string_view bytes);

/// The key of an item: at most 250 bytes, no blanks and no control characters.
class item_key {
 public:
  static constexpr std::size_t longest = 250;
  operator std::string_view() const noexcept { return {bytes_.data(), size_}; }
  /// What does not fit is left out.
  item_key& operator+=(std::string_view more) noexcept {
    size_ += more.copy(bytes_.data() + size_, longest - size_);
    return *this;
  }

 private:
  std::array<char, longest> bytes_;
  std::size_t size_ = 0;
};
/// May stand in a key.
constexpr bool is_plain(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7f;
}

/// The keys of a name. One that cannot be a key is cut, and told apart by a hash.
item_key lock_key(std::string_view name);
item_key token_key(std::string_view name);

/// What a store does with one key: appends a command to those that are sent together. Seconds as `expiry_of` makes
/// them.
namespace meta {
void create(std::string& to, std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags);
/// Only if nobody has changed it since.
void replace(std::string& to, std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags,
             std::uint64_t cas);
void remove(std::string& to, std::string_view key, std::uint64_t cas);
void read(std::string& to, std::string_view key);
/// So many more; begins at `first` if there is none.
void count(std::string& to, std::string_view key, std::uint64_t more, std::uint64_t first);
}  // namespace meta

/// Whole seconds, and one more: an item that is to live two seconds lives between one and two.
std::int64_t expiry_of(milliseconds lease) noexcept;

}  // namespace interlock::inline v1::memcached_store
