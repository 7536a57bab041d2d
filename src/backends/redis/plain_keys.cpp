// SPDX-License-Identifier: MIT
#include "backends/redis/plain_keys.hpp"

#include "backends/redis/packet.hpp"
#include "core/sha256.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace interlock::inline v1::redis_store {
namespace {

std::string literally(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool has_tag(std::string_view key) noexcept {
  const auto open = key.find('{');
  if (open == key.npos) return false;
  const auto shut = key.find('}', open + 1);
  return shut != key.npos && shut > open + 1;
}

// The smallest number that falls into the slot: for keys that can neither be put in braces nor bring their own.
std::string tag_for(std::uint16_t slot) {
  for (unsigned i = 0;; ++i)
    if (auto tag = std::to_string(i); slot_of(tag) == slot) return tag;
}

constexpr auto hexadecimal = [] {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {digits[i >> 4], digits[i & 15]};
  return out;
}();

}  // namespace

result<key_template> key_template::parse(std::string_view option, std::string_view text) {
  const auto star = text.find('*');
  if (star == text.npos || text.find('*', star + 1) != text.npos)
    return failure(errc::invalid_argument, "store URL: " + std::string(option) + "=" + std::string(text) +
                                               " must have one * in it, where the lock's name goes");
  key_template out;
  out.before_ = text.substr(0, star);
  out.after_ = text.substr(star + 1);
  return out;
}

void key_template::key(std::string& to, std::string_view name) const { to.append(before_).append(name).append(after_); }

std::string key_template::key(std::string_view name) const {
  std::string out;
  out.reserve(before_.size() + name.size() + after_.size());
  key(out, name);
  return out;
}

std::optional<std::string_view> key_template::name(std::string_view key) const noexcept {
  if (key.size() <= before_.size() + after_.size() || !key.starts_with(before_) || !key.ends_with(after_)) return {};
  return key.substr(before_.size(), key.size() - before_.size() - after_.size());
}

std::string key_template::pattern(std::string_view prefix) const {
  return literally(before_) + literally(prefix) + "*" + literally(after_);
}

// The three forms end differently, so that no two locks share a key: "a" and "{a}" are different locks. The one with
// braces around the key is made in plain_release.lua, too.
void beside(std::string& to, std::string_view key, char what) {
  to.append(own_keys);
  if (has_tag(key))
    to.append(key).append("::");
  else if (key.find('}') == key.npos)
    to.append("{").append(key).append("}:");
  else
    to.append("{").append(tag_for(slot_of(key))).append("}").append(key).append("~:");
  to += what;
}

std::string beside(std::string_view key, char what) {
  std::string out;
  out.reserve(key.size() + 12);
  beside(out, key, what);
  return out;
}

std::array<char, 32> value_of(const claim_secret& secret) noexcept {
  std::array<char, 32> out;
  for (std::size_t i = 0; i < 16; ++i)
    std::memcpy(&out[2 * i], hexadecimal[std::to_integer<std::size_t>(secret.bytes()[i])].data(), 2);
  return out;
}

std::optional<claim_secret> secret_of(std::string_view value) noexcept {
  if (std::any_of(value.begin(), value.end(), [](char c) { return c >= 'A' && c <= 'F'; })) return {};
  const auto bytes = claim_id::parse(value);
  if (!bytes) return {};
  return claim_secret(bytes->bytes());
}

claim_id id_of(std::string_view value) noexcept {
  if (const auto secret = secret_of(value)) return public_id(*secret);
  const auto whole = core::sha256(std::as_bytes(std::span(value)));
  std::array<std::byte, 16> half{};
  std::copy_n(whole.begin(), half.size(), half.begin());
  return claim_id(half);
}

}  // namespace interlock::inline v1::redis_store
