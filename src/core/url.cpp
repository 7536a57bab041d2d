// SPDX-License-Identifier: MIT
#include <interlock/url.hpp>

#include "core/percent.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace interlock::inline v1 {
namespace {

failure bad(std::string text) { return failure(errc::invalid_argument, text); }

bool scheme_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

result<std::string> decoded(std::string_view text, std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const auto* from = text.data() + i + 1;
    const auto* last = from + std::min<std::size_t>(2, text.size() - i - 1);
    const auto [end, wrong] = std::from_chars(from, last, value, 16);
    if (wrong != std::errc{} || end != from + 2 || value == 0)
      return bad("store URL: a '%' in the " + std::string(part) + " needs two hexadecimal digits after it, and not 00");
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

/// What decoded() turns back: control characters, the percent sign, and what would end this part too early.
std::string encoded(std::string_view text, std::string_view ends) {
  std::string out;
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(c);
    if (value > ' ' && value != 0x7f && c != '%' && ends.find(c) == std::string_view::npos)
      out += c;
    else
      core::append_percent(out, c);
  }
  return out;
}

result<store_url::endpoint> parse_endpoint(std::string_view text) {
  store_url::endpoint out;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos)
      return bad("store URL: the host " + std::string(text) + " lacks its closing ]");
    out.host = text.substr(1, close - 1);
    const auto rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return bad("store URL: unexpected text after ] in " + std::string(text));
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return bad("store URL: the port of " + std::string(text) + " is empty");
  } else {
    const auto colon = text.find(':');
    auto host = decoded(text.substr(0, colon), "host");
    if (!host) return host.error();
    out.host = *host;
    if (colon != std::string_view::npos) {
      port = text.substr(colon + 1);
      if (port.empty()) return bad("store URL: the port of " + std::string(text) + " is empty");
    }
  }
  if (out.host.empty()) return bad("store URL: a host is empty");
  if (!port.empty()) {
    unsigned value = 0;
    const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), value);
    if (wrong != std::errc{} || end != port.data() + port.size() || value < 1 || value > 65535)
      return bad("store URL: port \"" + std::string(port) + "\" is not a number from 1 to 65535");
    out.port = static_cast<std::uint16_t>(value);
  }
  return out;
}

result<void> parse_authority(std::string_view text, store_url& out) {
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    const auto user = text.substr(0, at);
    const auto colon = user.find(':');
    auto name = decoded(user.substr(0, colon), "user");
    if (!name) return name.error();
    out.user = *name;
    if (colon != std::string_view::npos) {
      auto secret = decoded(user.substr(colon + 1), "password");
      if (!secret) return secret.error();
      out.password = *secret;
    }
    text = text.substr(at + 1);
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    auto one = parse_endpoint(text.substr(0, comma));
    if (!one) return one.error();
    out.endpoints.push_back(*one);
    if (comma == std::string_view::npos) break;
    text = text.substr(comma + 1);
    if (text.empty()) return bad("store URL: a host is empty");
  }
  return {};
}

result<void> parse_options(std::string_view text, store_url& out) {
  while (!text.empty()) {
    const auto amp = text.find('&');
    const auto one = text.substr(0, amp);
    const auto equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return bad("store URL: option \"" + std::string(one) + "\" is not of the form name=value");
    auto value = decoded(one.substr(equals + 1), "option " + std::string(one.substr(0, equals)));
    if (!value) return value.error();
    if (!out.options.emplace(one.substr(0, equals), *value).second)
      return bad("store URL: option \"" + std::string(one.substr(0, equals)) + "\" is given twice");
    if (amp == std::string_view::npos) break;
    text = text.substr(amp + 1);
  }
  return {};
}

}  // namespace

result<store_url> parse_url(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return bad("store URL: \"" + std::string(text.substr(0, 40)) +
               "\" has no scheme; examples: sqlite:/var/lib/app/locks.db, memory:");
  store_url out;
  out.scheme = text.substr(0, colon);
  if (!std::all_of(out.scheme.begin(), out.scheme.end(), scheme_char))
    return bad("store URL: \"" + out.scheme.substr(0, 40) + "\" is not a scheme (lower-case letters, digits, +, -, .)");
  auto rest = text.substr(colon + 1);
  if (const auto question = rest.find('?'); question != std::string_view::npos) {
    if (auto done = parse_options(rest.substr(question + 1), out); !done) return done.error();
    rest = rest.substr(0, question);
  }
  if (rest.starts_with("//")) {
    rest = rest.substr(2);
    const auto slash = rest.find('/');
    if (auto done = parse_authority(rest.substr(0, slash), out); !done) return done.error();
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash);
  }
  auto path = decoded(rest, "path");
  if (!path) return path.error();
  out.path = *path;
  return out;
}

std::string store_url::shown() const {
  std::string out = scheme + ":";
  if (!endpoints.empty() || !user.empty()) {
    out += "//";
    if (!user.empty()) out += encoded(user, ":@/?") + (password.empty() ? "@" : ":***@");
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      if (i > 0) out += ',';
      const bool colons = endpoints[i].host.find(':') != std::string::npos;
      out += colons ? "[" + endpoints[i].host + "]" : encoded(endpoints[i].host, "@/?,");
      if (endpoints[i].port) out += ":" + std::to_string(*endpoints[i].port);
    }
  }
  out += encoded(path, "?");
  char sign = '?';
  for (const auto& [name, value] : options) {
    const bool secret = name.find("password") != std::string::npos && name != "password_file";
    out += std::exchange(sign, '&') + name + "=" + (secret ? "***" : encoded(value, "&"));
  }
  return out;
}

result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto wrong = [&] {
    return bad("\"" + std::string(text.substr(0, 40)) + "\" is not a duration: write 250ms, 5s, 2m or 1h");
  };
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || text.empty() || text.front() == '-' || end - text.data() > 10) return wrong();
  const auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit == "ms") return std::chrono::milliseconds(count);
  if (unit == "s") return std::chrono::milliseconds(std::chrono::seconds(count));
  if (unit == "m") return std::chrono::milliseconds(std::chrono::minutes(count));
  if (unit == "h") return std::chrono::milliseconds(std::chrono::hours(count));
  return wrong();
}

}  // namespace interlock::inline v1
