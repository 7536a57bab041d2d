// SPDX-License-Identifier: MIT
#include "backends/memcached/meta.hpp"

#include "core/sha256.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace interlock::inline v1::memcached_store {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t longest_line = 2048;
constexpr std::size_t longest_value = std::size_t{1} << 20;

template <class T>
std::optional<T> number(std::string_view text) {
  T out{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong != std::errc{} || end != text.data() + text.size()) return {};
  return out;
}

std::string_view word(std::string_view& rest) {
  const auto end = rest.find(' ');
  const auto out = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return out;
}

void read_flags(std::string_view rest, meta_reply& out) {
  while (!rest.empty()) {
    const auto flag = word(rest);
    if (flag.starts_with('c')) out.cas = number<std::uint64_t>(flag.substr(1)).value_or(0);
    if (flag.starts_with('t')) out.left = number<std::int64_t>(flag.substr(1)).value_or(0);
  }
}

}  // namespace

meta_parse parse_reply(std::string_view bytes) {
  using kind = meta_parse::outcome;
  const auto end = bytes.find(line_end);
  if (end == bytes.npos) return {.is = bytes.size() > longest_line ? kind::malformed : kind::partial};
  auto rest = bytes.substr(0, end);
  const auto whole = rest;
  meta_parse out{.is = kind::complete, .used = end + line_end.size()};
  auto& reply = out.reply;
  const auto first = word(rest);
  if (first == "VA") {
    const auto size = number<std::size_t>(word(rest));
    if (!size || *size > longest_value) return {.is = kind::malformed};
    if (bytes.size() < out.used + *size + line_end.size()) return {.is = kind::partial};
    reply.is = meta_reply::word::value;
    reply.data = bytes.substr(out.used, *size);
    out.used += *size + line_end.size();
    read_flags(rest, reply);
  } else if (first == "HD") {
    reply.is = meta_reply::word::done;
    read_flags(rest, reply);
  } else if (first == "NS") {
    reply.is = meta_reply::word::not_stored;
  } else if (first == "EX") {
    reply.is = meta_reply::word::changed;
  } else if (first == "NF" || first == "EN") {
    reply.is = meta_reply::word::missing;
  } else if (first == "ERROR" || first == "CLIENT_ERROR" || first == "SERVER_ERROR") {
    reply.data = whole;
  } else {
    return {.is = kind::malformed};
  }
  return out;
}

namespace meta {

namespace {

std::string set(std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags,
                std::string_view how) {
  std::string out = "ms ";
  out.append(key).append(" ").append(std::to_string(value.size())).append(" c ").append(how);
  out.append(" T").append(std::to_string(seconds));
  if (flags != 0) out.append(" F").append(std::to_string(flags));
  return out.append("\r\n").append(value).append("\r\n");
}

}  // namespace

std::string create(std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags) {
  return set(key, value, seconds, flags, "ME");
}

std::string replace(std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags,
                    std::uint64_t cas) {
  return set(key, value, seconds, flags, "C" + std::to_string(cas));
}

std::string remove(std::string_view key, std::uint64_t cas) {
  return "md " + std::string(key) + " C" + std::to_string(cas) + "\r\n";
}

std::string read(std::string_view key) { return "mg " + std::string(key) + " v c t\r\n"; }

std::string count(std::string_view key, std::uint64_t more, std::uint64_t first) {
  return "ma " + std::string(key) + " v N0 J" + std::to_string(first) + " D" + std::to_string(more) + "\r\n";
}

}  // namespace meta

std::int64_t expiry_of(milliseconds lease) noexcept {
  return std::chrono::ceil<std::chrono::seconds>(lease).count() + 1;
}

bool is_plain(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7f;
}

namespace {

constexpr std::size_t longest_name = 200, kept_of_longer = 120;

// n: the name itself; h: its beginning and its hash.
std::string encoded(std::string_view name) {
  if (name.size() <= longest_name && std::all_of(name.begin(), name.end(), is_plain)) return "n:" + std::string(name);
  std::string out = "h:";
  for (const char c : name.substr(0, kept_of_longer)) out += is_plain(c) ? c : '_';
  out += '~';
  const auto hash = core::sha256(std::as_bytes(std::span(name.data(), name.size())));
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t i = 0; i < 20; ++i) {
    const auto byte = std::to_integer<unsigned>(hash[i]);
    out += {digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace

std::string lock_key(std::string_view name) { return "ilk1l" + encoded(name); }

std::string token_key(std::string_view name) { return "ilk1t" + encoded(name); }

}  // namespace interlock::inline v1::memcached_store
