// SPDX-License-Identifier: MIT
#include "backends/memcached/meta.hpp"

#include "core/hex.hpp"
#include "core/sha256.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
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

std::string_view next_word(std::string_view& rest) {
  const auto end = rest.find(' ');
  const auto out = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return out;
}

void read_flags(std::string_view rest, meta_reply& out) {
  while (!rest.empty()) {
    const auto flag = next_word(rest);
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
  const auto first = next_word(rest);
  if (first == "VA") {
    const auto size = number<std::size_t>(next_word(rest));
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

void append(std::string& to, std::string_view text) { to += text; }
template <std::integral T>
void append(std::string& to, T number) {
  char digits[24];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}
template <class... Parts>
void say(std::string& to, const Parts&... parts) {
  (append(to, parts), ...);
}

void end_set(std::string& to, std::string_view value, std::int64_t seconds, unsigned flags) {
  say(to, " T", seconds);
  if (flags != 0) say(to, " F", flags);
  say(to, line_end, value, line_end);
}

}  // namespace

void create(std::string& to, std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags) {
  say(to, "ms ", key, " ", value.size(), " c ME");
  end_set(to, value, seconds, flags);
}

void replace(std::string& to, std::string_view key, std::string_view value, std::int64_t seconds, unsigned flags,
             std::uint64_t cas) {
  say(to, "ms ", key, " ", value.size(), " c C", cas);
  end_set(to, value, seconds, flags);
}

void remove(std::string& to, std::string_view key, std::uint64_t cas) { say(to, "md ", key, " C", cas, line_end); }

void read(std::string& to, std::string_view key) { say(to, "mg ", key, " v c t", line_end); }

void count(std::string& to, std::string_view key, std::uint64_t more, std::uint64_t first) {
  say(to, "ma ", key, " v N0 J", first, " D", more, line_end);
}

}  // namespace meta

std::int64_t expiry_of(milliseconds lease) noexcept {
  return std::chrono::ceil<std::chrono::seconds>(lease).count() + 1;
}

namespace {

constexpr std::size_t longest_name = 200, kept_of_longer = 120, digits_of_hash = 40;

// n: the name itself; h: its beginning and its hash.
item_key encoded(std::string_view prefix, std::string_view name) {
  item_key out;
  out += prefix;
  if (name.size() <= longest_name && std::all_of(name.begin(), name.end(), is_plain)) return (out += "n:") += name;
  out += "h:";
  for (const char c : name.substr(0, kept_of_longer)) out += {is_plain(c) ? &c : "_", 1};
  out += "~";
  const auto hash = core::sha256(std::as_bytes(std::span(name.data(), name.size())));
  const auto digits = core::hex_of(hash);
  return out += {digits.data(), digits_of_hash};
}

}  // namespace

item_key lock_key(std::string_view name) { return encoded("ilk1l", name); }

item_key token_key(std::string_view name) { return encoded("ilk1t", name); }

}  // namespace interlock::inline v1::memcached_store
