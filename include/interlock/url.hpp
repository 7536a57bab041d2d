// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1 {

/// A store's address, taken apart: `scheme://user:password@host:port,host:port/path?option=value`, or `scheme:path`.
struct store_url {
  struct endpoint {
    std::string host{};
    std::optional<std::uint16_t> port{};
  };
  std::string scheme{};
  std::string user{};
  std::string password{};
  std::vector<endpoint> endpoints{};
  std::string path{};
  std::map<std::string, std::string, std::less<>> options{};

  /// Without the password: the only form that may be shown or logged.
  [[nodiscard]] std::string shown() const;
};

/// Percent signs are decoded; a malformed part is invalid_argument, naming the part and the rule.
result<store_url> parse_url(std::string_view text);

/// "250ms", "5s", "2m", "1h"; at most ten digits, no sign, no fraction.
result<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace interlock::inline v1
