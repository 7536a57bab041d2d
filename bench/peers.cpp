// SPDX-License-Identifier: MIT
#include "peers.hpp"

namespace bench {

namespace {

peer_library in_java(const std::string& name, const std::string& folder) {
  const auto classes = folder + "/" + name + "/classes";
  return {.name = name,
          .command = {"java", "-cp", classes + ":" + folder + "/" + name + "/dependency/*", "Pairs"},
          .needs = classes + "/Pairs.class",
          .runs_on = "java"};
}

}  // namespace

peer_library redisson_in(const std::string& folder) { return in_java("redisson", folder); }

peer_library curator_in(const std::string& folder) { return in_java("curator", folder); }

peer_library redsync_in(const std::string& folder) {
  const auto program = folder + "/redsync/pairs";
  return {.name = "redsync", .command = {program}, .needs = program};
}

peer_library node_redlock_in(const std::string& folder, int version) {
  const auto script = folder + "/plain/redlock_pairs.cjs";  // finds its packages beside itself
  const auto package = "redlock" + std::to_string(version);
  return {.name = "node-" + package,
          .command = {"node", script, package},
          .needs = folder + "/plain/node_modules/" + package,
          .runs_on = "node"};
}

peer_library go_etcd_in(const std::string& folder) {
  const auto program = folder + "/etcd/pairs";
  return {.name = "go", .command = {program}, .needs = program};
}

peer_library go_etcd_handoff_in(const std::string& folder) {
  auto out = go_etcd_in(folder);
  out.command.emplace_back("handoff");
  return out;
}

}  // namespace bench
