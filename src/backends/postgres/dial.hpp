// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/settings.hpp"
#include "backends/sql/way.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace interlock::inline v1::postgres_store {

/// What was found out about the server when connecting.
struct server_facts {
  int version = 0;    ///< 150018
  std::string run{};  ///< changes with every restart and with the host
  int pid = 0;        ///< of the process that serves this connection
  std::string pid_since{};
  std::string fsync{}, synchronous_commit{}, standby_names{};
  std::int64_t standbys = 0;
  bool pooled = false;  ///< whoever greeted us is not who answers
};

/// Not strict: why. Empty: nothing against it.
std::string weak_points(const server_facts& found);

/// Makes sessions up to the point where statements are prepared.
class postgres_dial final : public sql::dialler {
 public:
  /// `channel`: to listen to; empty: none. `origin`: of claims that do not name one.
  postgres_dial(postgres_settings settings, std::string channel, std::string origin)
      : settings_(std::move(settings)), channel_(std::move(channel)), origin_(std::move(origin)) {}

  result<made> dial(const std::atomic<bool>& cancelled) override;
  /// From now on a server that promises less is not connected to.
  void insist_on_strict() noexcept { strict_.store(true); }
  [[nodiscard]] server_facts facts() const;
  /// Of the server's process that serves the last session.
  [[nodiscard]] int pid() const noexcept { return pid_.load(std::memory_order_relaxed); }

 private:
  const postgres_settings settings_;
  const std::string channel_, origin_;
  std::atomic<bool> strict_{false};
  std::atomic<int> pid_{0};

  mutable std::mutex mutex_;
  server_facts facts_;  // of the last session; its process is ended first, see docs/backends/postgres.md
};

/// Names of the prepared statements.
inline constexpr const char* ask_statement = "interlock_ask";
inline constexpr const char* survey_statement = "interlock_survey";
inline constexpr const char* tidy_statement = "interlock_tidy";

}  // namespace interlock::inline v1::postgres_store
