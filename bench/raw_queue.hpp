// SPDX-License-Identifier: MIT
#pragma once

#include "raw_redis.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// The least that a queue in the server can be: a list, a release that hands the lock to its head with a new token and
/// says so on a channel, and one connection for everything. No leases of waiters, nothing against lost messages.
class raw_queue {
 public:
  explicit raw_queue(std::uint16_t port);
  /// `waiters` queue behind a holder, who lets go; each that is granted lets go at once. Seconds from each release
  /// until the next one knows, added to `each`.
  void drain(int waiters, std::vector<double>& each);

 private:
  raw_redis server_;
  std::string acquire_, release_;
};

}  // namespace bench
