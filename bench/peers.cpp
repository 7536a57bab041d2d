// SPDX-License-Identifier: MIT
#include "peers.hpp"

namespace bench {

peer_library redisson_in(const std::string& folder) {
  const auto classes = folder + "/redisson/classes";
  return {.name = "redisson",
          .command = {"java", "-cp", classes + ":" + folder + "/redisson/dependency/*", "Pairs"},
          .needs = classes + "/Pairs.class",
          .runs_on = "java"};
}

peer_library redsync_in(const std::string& folder) {
  const auto program = folder + "/redsync/pairs";
  return {.name = "redsync", .command = {program}, .needs = program};
}

peer_library node_redlock_in(const std::string& folder) {
  const auto script = folder + "/plain/redlock_pairs.cjs";  // finds its packages beside itself
  return {.name = "node-redlock",
          .command = {"node", script, "redlock4"},
          .needs = folder + "/plain/node_modules/redlock4",
          .runs_on = "node"};
}

}  // namespace bench
