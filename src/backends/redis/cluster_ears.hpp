// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/connection.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::redis_store {

/// What a cluster is listened to for, and at which connections. A plain message reaches every node, so one is listened
/// to; one that was published to a shard stays at the master of its channel's slot, wherever that goes. Not locked.
class cluster_ears {
 public:
  using pointer = std::shared_ptr<connection>;
  /// Somewhere a subscription is missing.
  struct missing {
    pointer at;
    std::string channel;
    bool of_shard = false;
  };
  struct place {
    unsigned wanted = 0;
    pointer plain, shard;  ///< where it was asked for
  };
  /// The connection to the master of a channel's slot, if it is up.
  using finder = std::function<pointer(std::string_view channel)>;

  /// Wanted once more. What is missing of it has to be asked for, and so has the plain one each time: only its answer
  /// tells that the channel is heard.
  std::vector<missing> add(std::string_view channel, const finder& shard);
  /// Nobody wants it any more: where it was listened to.
  std::optional<place> remove(std::string_view channel);
  /// The one that plain messages are to come from, if there is none yet.
  void listen_at(pointer any);
  [[nodiscard]] bool has_any() const noexcept { return any_ != nullptr; }
  /// What has to be asked for, because a connection or a slot has moved. It is taken to be asked for now.
  std::vector<missing> settle(const finder& shard);
  /// This connection has ended.
  void forget(const connection& which) noexcept;
  /// It is not heard there after all, or not any more.
  void unheard(std::string_view channel, const connection& which) noexcept;

 private:
  void look(const std::string& channel, place& here, const finder& shard, std::vector<missing>& out);

  std::map<std::string, place, std::less<>> channels_;
  pointer any_;
};

}  // namespace interlock::inline v1::redis_store
