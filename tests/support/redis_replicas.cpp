// SPDX-License-Identifier: MIT
#include "support/redis_replicas.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <string>

namespace interlock::test_support {

redis_replicas::redis_replicas(std::size_t replicas, redis_options options) {
  options.config.insert(options.config.begin(), "hz 100");  // how soon a master notices that a copy is complete
  master_ = std::make_unique<redis_server>(options);
  options.replica_of = master_->port();
  while (replicas_.size() < replicas) replicas_.push_back(std::make_unique<redis_server>(options));
  await_links();
}

void redis_replicas::await_links() {
  await("the replicas are connected", [&] {
    std::size_t wanted = 0;
    for (const auto& one : replicas_) {
      if (!one->answers()) continue;
      if (one->info("replication")["master_link_status"] != "up") return false;
      ++wanted;
    }
    const auto seen = master_->info("replication");
    const auto online = std::count_if(seen.begin(), seen.end(), [](const auto& pair) {
      return pair.first.starts_with("slave") && pair.second.find("state=online") != std::string::npos;
    });
    return static_cast<std::size_t>(online) >= wanted;
  });
}

}  // namespace interlock::test_support
