// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/handle.hpp"
#include "backends/mysql/settings.hpp"
#include "backends/sql/examination.hpp"
#include "backends/sql/way.hpp"
#include "net/away.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace interlock::inline v1::mysql_store {

class talk;

/// What was found out about the server when connecting.
struct server_facts {
  unsigned long version = 0;  ///< 101119
  bool maria = false;         ///< and not MySQL
  std::string run{};          ///< changes with every restart and with the host
  std::int64_t started = 0;   ///< by its clock, in seconds
  std::uint64_t connection = 0;
  std::string host{};       ///< of the URL's, db.example:3306; none: a unix socket
  std::string seen_from{};  ///< our end of it, as the server sees it: 10.0.0.7:43210
  std::string flush_log{}, log_bin{}, sync_binlog{};
  std::int64_t replicas = 0;
  bool waits_for_replicas = false, is_replica = false, read_only = false, galera = false;
  std::string cipher{};  ///< empty: nothing is encrypted
  bool by_socket = false;
  bool pooled = false;  ///< whoever greeted us is not who answers
};

/// Not strict: why. Empty: nothing against it.
std::string weak_points(const server_facts& found);

/// Makes sessions up to the point where statements are prepared.
class mysql_dial final : public sql::dialler {
 public:
  /// `origin`: of claims that do not name one.
  mysql_dial(mysql_settings settings, std::string origin)
      : settings_(std::move(settings)), origin_(std::move(origin)) {}

  result<made> dial(const std::atomic<bool>& cancelled) override;
  /// From now on a server that promises less is not connected to.
  void insist_on_strict() noexcept { strict_.store(true); }
  [[nodiscard]] server_facts facts() const;
  /// What can be said only of all hosts of the URL together, behind what was found so far.
  void examine_hosts(reactor& loop, sql::checks so_far, completion<sql::checks> done);
  /// The number of the present session.
  [[nodiscard]] std::uint64_t connection() const noexcept { return connection_.load(); }

 private:
  result<made> session_made(talk& to, my_handle begun, server_facts found);
  result<made> dial_one(const std::pair<std::string, std::uint16_t>& host, const std::atomic<bool>& cancelled);

  const mysql_settings settings_;
  const std::string origin_;
  std::atomic<bool> strict_{false};
  std::atomic<std::uint64_t> connection_{0};

  mutable std::mutex mutex_;
  server_facts facts_;  // of the last session
  net::away<store_check> examining_;
};

}  // namespace interlock::inline v1::mysql_store
