// SPDX-License-Identifier: MIT
#include "cli/secrets.hpp"

#include <interlock/url.hpp>

#include <algorithm>

#include <unistd.h>

namespace interlock::cli {
namespace {

void blot(std::string_view text) noexcept {
  // argv is writable memory of this process (C11 5.1.2.2.1); only the view that led here promises not to write.
  std::fill_n(const_cast<char*>(text.data()), text.size(), '*');
}

bool has_password(std::string_view url) {
  const auto parsed = parse_url(url);
  if (!parsed) return true;  // cannot tell: better none than one too many
  if (!parsed->password.empty()) return true;
  return std::any_of(parsed->options.begin(), parsed->options.end(), [](const auto& option) {
    return option.first.find("password") != std::string::npos && option.first != "password_file";
  });
}

}  // namespace

void blot_password(std::string_view url) noexcept {
  // By hand rather than with parse_url: a URL that is wrong in some other place must not show its password either.
  const auto question = url.find('?');
  const auto before = url.substr(0, question);
  if (const auto slashes = before.find("//"); slashes != std::string_view::npos) {
    const auto authority = before.substr(slashes + 2);
    const auto at = authority.rfind('@');
    const auto colon = authority.find(':');
    if (at != std::string_view::npos && colon < at) blot(authority.substr(colon + 1, at - colon - 1));
  }
  if (question == std::string_view::npos) return;
  for (auto options = url.substr(question + 1); !options.empty();) {
    const auto end = std::min(options.find('&'), options.size());
    const auto one = options.substr(0, end);
    const auto equals = one.find('=');
    const auto name = one.substr(0, equals);
    if (equals != std::string_view::npos && name.find("password") != std::string_view::npos && name != "password_file")
      blot(one.substr(equals + 1));
    options.remove_prefix(std::min(end + 1, options.size()));
  }
}

std::vector<std::string> command_environment(const std::vector<std::string>& additions) {
  const auto replaced = [&](std::string_view name) {
    return std::any_of(additions.begin(), additions.end(),
                       [&](const std::string& one) { return one.starts_with(name); });
  };
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('=') + 1);  // with its '=': NAME= is no prefix of NAMES=
    if (name == "INTERLOCK_PASSWORD=" || replaced(name)) continue;
    if (name == "INTERLOCK_STORE=" && text.size() > name.size() && has_password(text.substr(name.size()))) continue;
    out.emplace_back(text);
  }
  out.insert(out.end(), additions.begin(), additions.end());
  return out;
}

}  // namespace interlock::cli
