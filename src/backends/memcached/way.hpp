// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/connection.hpp"

#include "net/lasting.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace interlock::inline v1::memcached_store {

/// To one server.
class way final : public net::lasting<connection, established> {
 public:
  using facts = std::map<std::string, std::string, std::less<>>;

  way(const backend_environment& environment, memcached_settings settings);

  /// What `stats` said when it was connected.
  [[nodiscard]] facts stats() const;
  void send(std::string_view commands, std::size_t count, inline_work here, replies_handler done);

 private:
  std::string run_of(const established& made) const override;
  pointer connected(established made, reactor& loop, const time_source& time) override;

  const memcached_settings settings_;
  mutable std::mutex mutex_;
  facts stats_;  // [mutex_]
};

}  // namespace interlock::inline v1::memcached_store
