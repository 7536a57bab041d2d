// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/locator.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Asks sentinels, one after the other, who the master is. The next time it begins with the one that knew.
///
/// A sentinel has users of its own, and often none: one that refuses what it is told is asked again without user and
/// password.
class sentinel_locator final : public locator,
                               public connection::owner,
                               public std::enable_shared_from_this<sentinel_locator> {
 public:
  sentinel_locator(const backend_environment& environment, std::vector<endpoint> sentinels, std::string master,
                   const connection_settings& settings);

  void find(unique_function<void(result<endpoint>)> done) override;
  void close() noexcept override;

  // connection::owner
  void up(connection& which, const server_facts& found) noexcept override;
  void down(connection& which, const failure& why) noexcept override;
  void pushed(connection&, reply) noexcept override {}
  bool refused(connection&, const refusal&, reply_handler&) noexcept override { return false; }

 private:
  struct sentinel {
    endpoint where{};
    bool bare = false;  ///< asked without user and password, since it has refused them
  };
  void ask_next(const failure& why);
  [[nodiscard]] bool knows_credentials() const { return settings_.password || !settings_.user.empty(); }
  [[nodiscard]] std::shared_ptr<connection> connect(sentinel& to);
  [[nodiscard]] failure explained(const sentinel& who, const failure& why) const;
  void answered(connection& which, const result<reply>& got);
  void finish(const result<endpoint>& found);

  reactor& loop_;
  const time_source& time_;
  const std::string master_;
  const connection_settings settings_, bare_settings_;

  std::mutex mutex_;  // everything below
  std::vector<sentinel> sentinels_;
  std::size_t next_ = 0;            // whom to ask
  std::size_t asked_ = 0;           // how many, this time
  std::optional<failure> refusal_;  // what the one being asked said at first
  std::shared_ptr<connection> current_;
  unique_function<void(result<endpoint>)> done_;
};

/// A locator that is owned by one courier and kept alive by its own callbacks.
std::unique_ptr<locator> make_sentinel_locator(const backend_environment& environment, std::vector<endpoint> sentinels,
                                               std::string master, const connection_settings& settings);

}  // namespace interlock::inline v1::redis_store
