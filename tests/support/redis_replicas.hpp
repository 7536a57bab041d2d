// SPDX-License-Identifier: MIT
#pragma once

#include "support/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace interlock::test_support {

/// A master and replicas of it, connected when the constructor returns.
class redis_replicas {
 public:
  /// `options` are for all of them, master included.
  explicit redis_replicas(std::size_t replicas, redis_options options = {});

  [[nodiscard]] redis_server& master() noexcept { return *master_; }
  [[nodiscard]] redis_server& replica(std::size_t index) { return *replicas_.at(index); }

  /// Until every replica that answers is connected and the master sends it what it is told itself.
  void await_links();

 private:
  std::unique_ptr<redis_server> master_;
  std::vector<std::unique_ptr<redis_server>> replicas_;
};

}  // namespace interlock::test_support
