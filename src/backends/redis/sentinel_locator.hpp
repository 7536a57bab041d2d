// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/locator.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Asks sentinels, one after the other, who the master is. The next time it begins with the one that knew.
class sentinel_locator final : public locator,
                               public connection::owner,
                               public std::enable_shared_from_this<sentinel_locator> {
 public:
  sentinel_locator(const backend_environment& environment, std::vector<endpoint> sentinels, std::string master,
                   connection_settings settings);

  void find(unique_function<void(result<endpoint>)> done) override;
  void close() noexcept override;

  // connection::owner
  void up(connection& which, const server_facts& found) noexcept override;
  void down(connection& which, const failure& why) noexcept override;
  void pushed(connection&, reply) noexcept override {}
  bool refused(connection&, const refusal&, reply_handler&) noexcept override { return false; }

 private:
  void ask_next(const failure& why);
  void answered(connection& which, const result<reply>& got);
  void finish(const result<endpoint>& found);

  reactor& loop_;
  const time_source& time_;
  const std::string master_;
  const connection_settings settings_;

  std::mutex mutex_;  // everything below
  std::vector<endpoint> sentinels_;
  std::size_t next_ = 0;   // whom to ask
  std::size_t asked_ = 0;  // how many, this time
  std::shared_ptr<connection> current_;
  unique_function<void(result<endpoint>)> done_;
};

/// A locator that is owned by one courier and kept alive by its own callbacks.
std::unique_ptr<locator> make_sentinel_locator(const backend_environment& environment, std::vector<endpoint> sentinels,
                                               std::string master, connection_settings settings);

}  // namespace interlock::inline v1::redis_store
