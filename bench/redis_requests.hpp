// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// What the Redis store sends for an uncontended acquire and release, taken down while it does. The two can be sent
/// again and again, in turn.
struct pair_of_requests {
  std::string acquire, release;
};
std::vector<pair_of_requests> requests_for(std::uint16_t port, const std::vector<std::string>& names);

/// "PREFIX/0", "PREFIX/1", ...
std::vector<std::string> numbered(const std::string& prefix, int count);

}  // namespace bench
