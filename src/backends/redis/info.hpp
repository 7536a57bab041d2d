// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string_view>

namespace interlock::inline v1::redis_store {

/// Out of an answer to INFO, "redis_version:7.0.15\r\n...": what stands behind `name:`; empty if it does not say.
inline std::string_view info_field(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const auto end = std::min(info.find('\n', at), info.size());
    auto line = info.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return line.substr(name.size() + 1);
    at = end + 1;
  }
  return {};
}

}  // namespace interlock::inline v1::redis_store
