// SPDX-License-Identifier: MIT
#include "backends/mysql/user_lock_key.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace interlock::inline v1::mysql_store {
namespace {

constexpr std::size_t longest_key = 64;  // of MySQL; MariaDB would take 192 bytes
constexpr std::size_t hash_digits = 32;  // of the hash

// MySQL takes capitals for small letters, and other scripts in ways that differ: only these are safe as they are.
bool is_safe(unsigned char c) { return c < 0x80 && (c < 'A' || c > 'Z'); }

// Five bits each, the lowest first.
result<std::string> hash_of(std::string_view name) {
  std::array<std::uint8_t, 64> sum{};
  unsigned size = 0;
  if (EVP_Digest(name.data(), name.size(), sum.data(), &size, EVP_sha512(), nullptr) != 1)
    return failure(errc::unsupported, "OpenSSL refuses SHA-512, which long names need");
  std::string out;
  std::uint32_t bits = 0, count = 0;
  for (std::size_t at = 0; out.size() < hash_digits;) {
    if (count < 5) {
      bits |= static_cast<std::uint32_t>(sum[at++]) << count;
      count += 8;
    }
    out += "abcdefghijklmnopqrstuvwxyz234567"[bits & 31];
    bits >>= 5;
    count -= 5;
  }
  return out;
}

}  // namespace

result<std::string> user_lock_key(std::string_view name, key_rule rule) {
  const bool as_it_is =
      !name.empty() && name.size() <= longest_key &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_safe(static_cast<unsigned char>(c)); });
  if (as_it_is) return std::string(name);
  if (rule == key_rule::plain)
    return failure(errc::invalid_argument,
                   "keys=plain takes names of up to 64 bytes, in ASCII and without capital letters: servers differ in "
                   "which others they tell apart");
  const auto hash = hash_of(name);
  if (!hash) return hash.error();
  std::string out = name.empty() ? "__empty__" : std::string(name.substr(0, longest_key - hash_digits));
  for (auto& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (static_cast<unsigned char>(c) >= 0x80) c = '_';
  }
  return out + *hash;
}

}  // namespace interlock::inline v1::mysql_store
