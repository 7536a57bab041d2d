// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_names.hpp"

#include "core/sha256.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace interlock::inline v1::redis_store::redisson {

namespace {

using secret_bytes = std::array<std::byte, 16>;

constexpr std::size_t uuid_length = 36;
constexpr std::byte version_4{0x40}, variant{0x80};

constexpr bool dash_at(std::size_t i) noexcept { return i == 8 || i == 13 || i == 18 || i == 23; }

constexpr int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

void append_hex(std::string& to, std::byte byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  to += digits[std::to_integer<std::size_t>(byte >> 4)];
  to += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
}

std::string joined(std::string_view before, std::string_view name, std::string_view after = {}) {
  std::string out;
  out.reserve(before.size() + name.size() + after.size() + 2);
  out += before;
  const bool bare = name.find('{') == std::string_view::npos;
  if (bare) out += '{';
  out += name;
  if (bare) out += '}';
  out += after;
  return out;
}

// `a` and `{a}` have the same tag; the letter before keeps their keys apart.
std::string companion(char what, std::string_view name) {
  const bool bare = name.find('{') == std::string_view::npos;
  return joined(std::string(bare ? "ilk1:r:" : "ilk1:R:") + what + ':', name);
}

}  // namespace

std::string_view to_string(object what) noexcept {
  switch (what) {
    case object::lock: return "lock";
    case object::fenced: return "fenced";
    case object::rw: return "rw";
    case object::fair: return "fair";
    case object::semaphore: return "semaphore";
  }
  return "unknown";
}

std::string tag(std::string_view name) { return joined({}, name); }

// A version 4 UUID has six bits that are not free; the ones they displace are the thread's number.
std::string owner_of(const claim_secret& secret) {
  auto bytes = secret.bytes();
  const auto displaced = (bytes[6] >> 4 << 2) | (bytes[8] >> 6);
  bytes[6] = (bytes[6] & std::byte{0x0f}) | version_4;
  bytes[8] = (bytes[8] & std::byte{0x3f}) | variant;
  std::string out;
  out.reserve(uuid_length + 3);
  for (const auto byte : bytes) {
    if (dash_at(out.size())) out += '-';
    append_hex(out, byte);
  }
  return out + ':' + std::to_string(std::to_integer<unsigned>(displaced));
}

std::optional<claim_secret> secret_of(std::string_view owner) noexcept {
  if (owner.size() < uuid_length + 2 || owner[uuid_length] != ':') return {};
  unsigned displaced = 0;
  const auto number = owner.substr(uuid_length + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), displaced);
  if (read.ec != std::errc{} || read.ptr != number.data() + number.size() || displaced > 63) return {};
  if (number.size() > 1 && number.front() == '0') return {};
  secret_bytes bytes{};
  for (std::size_t i = 0, at = 0; i < bytes.size(); ++i) {
    if (dash_at(at) && owner[at++] != '-') return {};
    const int high = digit_of(owner[at]), low = digit_of(owner[at + 1]);
    if (high < 0 || low < 0) return {};
    bytes[i] = static_cast<std::byte>(high * 16 + low);
    at += 2;
  }
  if ((bytes[6] & std::byte{0xf0}) != version_4 || (bytes[8] & std::byte{0xc0}) != variant) return {};
  bytes[6] = (bytes[6] & std::byte{0x0f}) | static_cast<std::byte>(displaced >> 2 << 4);
  bytes[8] = (bytes[8] & std::byte{0x3f}) | static_cast<std::byte>((displaced & 3U) << 6);
  return claim_secret(bytes);
}

claim_id id_of(std::string_view owner) noexcept {
  if (const auto secret = secret_of(owner)) return public_id(*secret);
  const auto sum = core::sha256(std::as_bytes(std::span(owner.data(), owner.size())));
  secret_bytes half{};
  std::copy_n(sum.begin(), half.size(), half.begin());
  return claim_id(half);
}

// Only the last four bytes count, as in redisson_semaphore.lua.
std::string nth_permit(std::string_view first, std::uint32_t n) {
  std::string out(first);
  if (out.size() != sizeof(claim_secret)) return out;
  std::uint32_t last = 0;
  for (std::size_t i = 12; i < 16; ++i) last = last << 8 | static_cast<unsigned char>(out[i]);
  last += n;
  for (std::size_t i = 16; i-- > 12; last >>= 8) out[i] = static_cast<char>(last & 0xffU);
  return out;
}

claim_secret secret_of_permit(std::string_view permit) noexcept {
  secret_bytes bytes{};
  const auto from = std::as_bytes(std::span(permit.data(), permit.size()));
  std::copy_n(from.begin(), std::min(from.size(), bytes.size()), bytes.begin());
  return claim_secret(bytes);
}

std::string channel(object what, std::string_view name, const claim_secret& secret) {
  switch (what) {
    case object::rw: return joined("redisson_rwlock:", name);
    case object::semaphore: return joined("redisson_sc:", name);
    case object::fair: return joined("redisson_lock__channel:", name, ":" + owner_of(secret));
    case object::lock:
    case object::fenced: break;
  }
  return joined("redisson_lock__channel:", name);
}

std::string latch_channel(std::string_view name) {
  return "redisson_countdownlatch__channel__{" + std::string(name) + "}";
}

std::string client_channel(std::string_view client) { return "ilk1:r:client:" + std::string(client); }

std::string queue_key(std::string_view name) { return joined("redisson_lock_queue:", name); }
std::string deadlines_key(std::string_view name) { return joined("redisson_lock_timeout:", name); }
std::string token_key(std::string_view name) { return joined("redisson_lock_token:", name); }
std::string permits_key(std::string_view name) { return joined({}, name, ":timeout"); }
std::string timeout_key(std::string_view name, std::string_view owner) {
  return joined({}, name, ":" + std::string(owner) + ":rwlock_timeout:1");
}

std::string book_key(std::string_view name) { return companion('b', name); }
std::string line_key(std::string_view name) { return companion('w', name); }
std::string limit_key(std::string_view name) { return companion('c', name); }
std::string marks_key(std::string_view name) { return companion('m', name); }

std::string tomb_key(std::string_view name, std::string_view owner) {
  auto out = companion('x', name) + ':';
  if (owner.size() > 16) return out += owner;
  for (const char c : owner) append_hex(out, static_cast<std::byte>(c));  // a permit's bytes
  return out;
}

std::optional<std::string> name_of_book(std::string_view key) {
  constexpr auto length = std::string_view("ilk1:r:b:").size();
  if (key.size() <= length) return {};
  const auto rest = key.substr(length);
  if (key.starts_with("ilk1:R:b:")) return std::string(rest);
  if (!key.starts_with("ilk1:r:b:") || rest.size() < 3 || rest.front() != '{' || rest.back() != '}') return {};
  return std::string(rest.substr(1, rest.size() - 2));
}

}  // namespace interlock::inline v1::redis_store::redisson
