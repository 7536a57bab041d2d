// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

#include "core/names.hpp"
#include "core/percent.hpp"

#include <limits>
#include <string>

/// `il1:x:33:billing%20run`: format 1, x(clusive) or s(hared), the token, the name. Printable ASCII without quotes,
/// blanks or commas, so that it travels unescaped in headers, URLs, logs and shell words. The name comes last and every
/// grant has exactly one spelling: two sequencers are the same grant if and only if they are the same text.
namespace interlock::inline v1 {
namespace {

constexpr std::string_view format = "il1:";

constexpr bool is_plain(unsigned char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~' || c == '/';
}

/// Two digits behind a '%', for a byte that has to be written this way; anything else is another spelling of something.
std::optional<char> decode(std::string_view two) noexcept {
  const auto byte = core::from_percent(two);
  if (!byte || is_plain(static_cast<unsigned char>(*byte))) return std::nullopt;
  return byte;
}

std::optional<std::string> decode_name(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    if (text.front() == '%') {
      const auto byte = decode(text.substr(1, 2));
      if (!byte) return std::nullopt;
      name += *byte;
      text.remove_prefix(3);
    } else {
      if (!is_plain(static_cast<unsigned char>(text.front()))) return std::nullopt;
      name += text.front();
      text.remove_prefix(1);
    }
  }
  // What no lock can be called was not made from a guard. How long names may be is each store's own rule.
  if (!core::check_name(name, std::numeric_limits<std::size_t>::max())) return std::nullopt;
  return name;
}

}  // namespace

std::string make_sequencer(std::string_view name, bool shared, fencing_token token) {
  std::string text{format};
  text += shared ? "s:" : "x:";
  text += to_string(token);
  text += ':';
  for (const char c : name) {
    if (is_plain(static_cast<unsigned char>(c)))
      text += c;
    else
      core::append_percent(text, c);
  }
  return text;
}

std::optional<sequencer_parts> parse_sequencer(std::string_view text) {
  if (!text.starts_with(format)) return std::nullopt;
  text.remove_prefix(format.size());
  const bool shared = text.starts_with("s:");
  if (!shared && !text.starts_with("x:")) return std::nullopt;
  text.remove_prefix(2);
  const auto colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto token = parse_token(text.substr(0, colon));
  auto name = decode_name(text.substr(colon + 1));
  if (!token || !name) return std::nullopt;
  return sequencer_parts{.name = std::move(*name), .shared = shared, .token = *token};
}

}  // namespace interlock::inline v1
