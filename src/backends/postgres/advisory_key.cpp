// SPDX-License-Identifier: MIT
#include "backends/postgres/advisory_key.hpp"

#include "backends/postgres/digests.hpp"
#include "core/sha256.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

namespace interlock::inline v1::postgres_store {
namespace {

advisory_key single(std::uint64_t value) noexcept { return {static_cast<std::int64_t>(value), false}; }
advisory_key pair(std::uint32_t first, std::uint32_t second) noexcept {
  return {static_cast<std::int64_t>(std::uint64_t{first} << 32 | second), true};
}

template <class T>
std::optional<T> number(std::string_view text, int base = 10) noexcept {
  T out{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (wrong != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
  return out;
}

template <class Bytes>
std::uint64_t first_eight(const Bytes& bytes) noexcept {  // the least significant first
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return out;
}

// Up to nine characters are the key themselves, seven bits each, ended by a zero and filled with ones; sixteen
// hexadecimal digits are a number, twice eight are two; everything else is hashed.
result<advisory_key> by_medallion(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  if (name.size() <= 9 && ascii) {
    std::uint64_t out = 0;
    unsigned bits = 0;
    for (const char c : name) {
      out = out << 7 | static_cast<unsigned char>(c);
      bits += 7;
    }
    out <<= 1;
    for (++bits; bits < 64; ++bits) out = out << 1 | 1;
    return advisory_key{static_cast<std::int64_t>(out), true};
  }
  if (name.size() == 16)
    if (const auto value = number<std::uint64_t>(name, 16)) return single(*value);
  if (name.size() == 17 && name[8] == ',') {
    const auto first = number<std::uint32_t>(name.substr(0, 8), 16), second = number<std::uint32_t>(name.substr(9), 16);
    if (first && second) return pair(*first, *second);
  }
  const auto hash = sha1(name);
  if (!hash) return hash.error();
  return single(first_eight(*hash));
}

// Java's String.hashCode(), which counts UTF-16 units.
std::int32_t java_hash(std::string_view text) noexcept {
  std::uint32_t out = 0;
  const auto add = [&](std::uint32_t unit) { out = 31 * out + unit; };
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    std::uint32_t point = size == 1 ? lead : lead & (0xffU >> (size + 1));
    for (std::size_t k = 1; k < size && i + k < text.size(); ++k)
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
    if (point < 0x10000) {
      add(point);
    } else {
      add(0xd800 + ((point - 0x10000) >> 10));
      add(0xdc00 + ((point - 0x10000) & 0x3ff));
    }
    i += size;
  }
  return static_cast<std::int32_t>(out);
}

result<advisory_key> by_number(std::string_view name) {
  if (const auto one = number<std::int64_t>(name)) return advisory_key{*one, false};
  const auto comma = name.find(',');
  if (comma != name.npos) {
    const auto first = number<std::int32_t>(name.substr(0, comma)),
               second = number<std::int32_t>(name.substr(comma + 1));
    if (first && second) return pair(static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*second));
  }
  return failure(errc::invalid_argument, "\"" + std::string(name) +
                                             "\" is not the number of an advisory lock: with keys=number a name is 42 "
                                             "(a bigint) or 7,42 (two integers)");
}

}  // namespace

std::optional<key_rule> parse_key_rule(std::string_view text) noexcept {
  if (text == "sha256" || text == "django-pglock") return key_rule::sha256;
  if (text == "django-pglocks") return key_rule::django_pglocks;
  if (text == "flyway") return key_rule::flyway;
  if (text == "medallion") return key_rule::medallion;
  if (text == "number") return key_rule::number;
  if (text == "rails") return key_rule::rails;
  if (text == "symfony") return key_rule::symfony;
  if (text == "tooz") return key_rule::tooz;
  if (text == "with_advisory_lock") return key_rule::with_advisory_lock;
  return {};
}

result<advisory_key> advisory_key_of(std::string_view name, key_rule by) {
  switch (by) {
    case key_rule::sha256: return single(first_eight(core::sha256(std::as_bytes(std::span(name.data(), name.size())))));
    case key_rule::django_pglocks: return advisory_key{static_cast<std::int32_t>(crc32(name)), false};
    case key_rule::flyway: return advisory_key{77431708279161 + java_hash(name), false};
    case key_rule::medallion: return by_medallion(name);
    case key_rule::number: return by_number(name);
    case key_rule::rails: return single(std::uint64_t{2053462845} * crc32(name));
    case key_rule::symfony: return advisory_key{crc32(name), false};
    case key_rule::tooz: {
      const auto hash = md5(name);
      if (!hash) return hash.error();
      return pair((*hash)[0], (*hash)[1]);
    }
    case key_rule::with_advisory_lock: return pair(crc32(name) & 0x7fffffff, 0);
  }
  return failure(errc::internal);
}

}  // namespace interlock::inline v1::postgres_store
