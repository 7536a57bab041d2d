// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include <unistd.h>

namespace interlock::cli {

/// Where this program lies.
inline std::string own_path() {
  std::array<char, 4096> path{};
  const auto size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "interlock";
}

}  // namespace interlock::cli
