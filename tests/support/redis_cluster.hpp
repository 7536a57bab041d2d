// SPDX-License-Identifier: MIT
#pragma once

#include "support/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// Three masters and a replica of each; a node is called dead after one second of silence.
class redis_cluster {
 public:
  /// All slots are served and all replicas connected when this returns, a good two seconds later: a Redis master waits
  /// that long before it says that its cluster is well. `options` are for every node.
  explicit redis_cluster(const redis_options& options = {});

  [[nodiscard]] std::string url(const std::string& query = {}) const;
  [[nodiscard]] redis_server& node(std::size_t index) { return nodes_.at(index)->server; }  ///< 0 to 5
  [[nodiscard]] static constexpr std::size_t size() noexcept { return 6; }

  /// As the nodes that answer see it, once they agree.
  [[nodiscard]] redis_server& master_of(std::string_view key) { return master_of_slot(slot_of(key)); }
  [[nodiscard]] redis_server& master_of_slot(int slot);
  [[nodiscard]] redis_server& replica_of(const redis_server& master);
  /// Those of one slot at least, as one of the nodes sees it.
  [[nodiscard]] std::vector<redis_server*> masters();
  /// As the server counts it.
  [[nodiscard]] int slot_of(std::string_view key);

  /// The replica takes over while both are well, without losing anything. The new master, when all nodes know of it.
  redis_server& failover(const redis_server& master);
  /// After something has happened to `old`: until the nodes that answer agree on another master of this slot.
  redis_server& await_master_other_than(const redis_server& old, int slot);

  /// A slot is moved in three steps. Between the first and the last its master says ASK for keys that it has not or no
  /// longer, and afterwards MOVED.
  void begin_move(int slot, redis_server& to);
  void move_keys(int slot, redis_server& to);
  void finish_move(int slot, redis_server& to);
  void move(int slot, redis_server& to);

 private:
  struct member {
    explicit member(const redis_options& options);
    reserved_port bus;
    redis_server server;
    std::string id;
  };
  void meet();
  void await_replicas();
  [[nodiscard]] redis_server& any_node();
  [[nodiscard]] redis_server* agreed_master(int slot);
  [[nodiscard]] bool all_well();
  [[nodiscard]] member& member_of(const redis_server& server);

  std::string password_;
  std::vector<std::unique_ptr<member>> nodes_;
};

}  // namespace interlock::test_support
