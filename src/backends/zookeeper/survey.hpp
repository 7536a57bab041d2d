// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/notes.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/recipe.hpp"
#include "backends/zookeeper/session.hpp"

#include <interlock/backend.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

/// A contender's node as it was read.
struct seen_node {
  std::string node{};
  std::string data{};
  node_stat stat{};
};

/// All that was seen of one name.
struct seen_lock {
  std::string name{};
  std::vector<contender> line{};     ///< of the lock
  std::vector<std::string> queue{};  ///< of the semaphore, under `locks`
  std::vector<std::string> pool{};   ///< under `leases`
  std::map<std::string, seen_node> nodes{};
  lock_notes notes{};
  std::uint64_t made = 0;  ///< the change that made the lock's own node
};

lock_info describe(const seen_lock& from, const recipe& how);

struct sight {
  std::vector<seen_lock> locks{};  ///< by name; only those with somebody in them
  bool more = false;
};
/// Reads node by node, many at a time, so never all of one moment.
void look_around(std::shared_ptr<session> through, const lock_root& root, const recipe& how, survey_query what,
                 unique_function<void(result<sight>)> done);

}  // namespace interlock::inline v1::zookeeper_store
