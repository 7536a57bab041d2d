// SPDX-License-Identifier: MIT
#pragma once

#include "support/redis_replicas.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace interlock::test_support {

/// A master with two replicas, and three sentinels that call a master dead after one second of silence.
class redis_sentinels {
 public:
  static constexpr auto name = "m1";

  /// Every sentinel knows the others and the replicas when this returns. `options` are for the servers, `more` are
  /// further lines in the configuration of the sentinels.
  explicit redis_sentinels(const redis_options& options = {}, const std::vector<std::string>& more = {});

  [[nodiscard]] std::string url(const std::string& query = {}) const;
  /// `credentials` as in "user:password".
  [[nodiscard]] std::string url_as(const std::string& credentials, const std::string& query = {}) const;
  [[nodiscard]] redis_server& server(std::size_t index);  ///< 0 to 2; 0 was the master at the beginning
  [[nodiscard]] redis_server& sentinel(std::size_t index) { return *sentinels_.at(index); }

  /// As most of the sentinels that answer say.
  [[nodiscard]] redis_server& master();
  /// Asks a sentinel to hand the master's role over; the new master, when all sentinels know of it.
  redis_server& failover();
  /// After something has happened to `old`: until all sentinels that answer agree on another one.
  redis_server& await_master_other_than(const redis_server& old);

 private:
  [[nodiscard]] int master_port(const redis_server& sentinel) const;
  [[nodiscard]] redis_server* agreed_master();
  [[nodiscard]] bool complete(const redis_server& sentinel) const;

  std::string password_;
  redis_replicas servers_;
  std::array<std::unique_ptr<redis_server>, 3> sentinels_;
};

}  // namespace interlock::test_support
