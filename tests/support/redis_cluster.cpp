// SPDX-License-Identifier: MIT
#include "support/redis_cluster.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <stdexcept>

namespace interlock::test_support {
namespace {

constexpr std::size_t shards = 3;
constexpr int slots = 16'384;

// The port of the master that this node believes to have the slot; 0: none.
int believed_master(const redis_server& node, int slot) {
  for (const auto& range : node.command({"CLUSTER", "SLOTS"}).list) {
    if (range[0].number <= slot && slot <= range[1].number) return static_cast<int>(range[2][1].number);
  }
  return 0;
}

redis_options clustered(redis_options options, int bus) {
  const std::vector<std::string> ours{
      "cluster-enabled yes",
      "cluster-node-timeout 1000",
      "cluster-port " + std::to_string(bus),  // the usual one, +10000, may be somebody else's
      "hz 100",                               // how soon a master notices that a copy is complete
      "repl-ping-replica-period 1",           // a replica that was sent nothing yet is not listed
  };
  options.config.insert(options.config.begin(), ours.begin(), ours.end());
  return options;
}

}  // namespace

redis_cluster::member::member(const redis_options& options)
    : server(clustered(options, bus.number())), id(server.command({"CLUSTER", "MYID"}).text) {}

redis_cluster::redis_cluster(const redis_options& options) : password_(options.password) {
  while (nodes_.size() < size()) nodes_.push_back(std::make_unique<member>(options));
  for (std::size_t index = 0; index < shards; ++index) {
    const auto first = slots * index / shards, last = slots * (index + 1) / shards - 1;
    node(index).command({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
  meet();
  await_replicas();
  await("the cluster is well", [&] { return all_well(); });
}

// Everybody is introduced to everybody, which is faster than to wait for the gossip.
void redis_cluster::meet() {
  for (std::size_t from = 0; from < size(); ++from) {
    node(from).command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(from + 1)});
    for (std::size_t to = 0; to < from; ++to) {
      node(from).command(
          {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(to).port()), std::to_string(nodes_[to]->bus.number())});
    }
  }
}

void redis_cluster::await_replicas() {
  for (std::size_t index = shards; index < size(); ++index) {
    const auto& id = nodes_[index - shards]->id;
    await("a node knows its master", [&] { return node(index).ask({"CLUSTER", "REPLICATE", id}) == "OK"; });
  }
}

bool redis_cluster::all_well() {
  std::size_t linked = 0;
  for (std::size_t index = 0; index < size(); ++index) {
    if (node(index).command({"CLUSTER", "INFO"}).text.find("cluster_state:ok") == std::string::npos) return false;
    // who is whose replica is known to all
    for (const auto& range : node(index).command({"CLUSTER", "SLOTS"}).list) {
      if (range.size() != 4) return false;
    }
    auto replication = node(index).info("replication");
    if (replication["master_link_status"] == "up") ++linked;
  }
  return linked == size() - shards;
}

std::string redis_cluster::url(const std::string& query) const {
  std::string hosts;
  for (const auto& one : nodes_) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->server.port());
  }
  return "redis+cluster://" + (password_.empty() ? "" : ":" + password_ + "@") + hosts +
         (query.empty() ? "" : "?" + query);
}

redis_cluster::member& redis_cluster::member_of(const redis_server& server) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& one) { return &one->server == &server; });
  if (found == nodes_.end()) throw std::logic_error("this server is no member of the cluster");
  return **found;
}

redis_server& redis_cluster::any_node() {
  for (const auto& one : nodes_) {
    if (one->server.answers()) return one->server;
  }
  throw std::logic_error("no node answers");
}

int redis_cluster::slot_of(std::string_view key) {
  return static_cast<int>(any_node().command({"CLUSTER", "KEYSLOT", std::string(key)}).number);
}

redis_server* redis_cluster::agreed_master(int slot) {
  int port = 0;
  for (const auto& one : nodes_) {
    if (!one->server.answers()) continue;
    const int said = believed_master(one->server, slot);
    if (said == 0 || (port != 0 && said != port)) return nullptr;
    port = said;
  }
  for (const auto& one : nodes_) {
    if (one->server.port() == port) return &one->server;
  }
  return nullptr;
}

redis_server& redis_cluster::master_of_slot(int slot) {
  redis_server* found = nullptr;
  await("the nodes agree on a master", [&] { return (found = agreed_master(slot)) != nullptr; });
  return *found;
}

redis_server& redis_cluster::replica_of(const redis_server& master) {
  for (const auto& one : nodes_) {
    if (!one->server.answers()) continue;
    const auto seen = one->server.info("replication");
    if (seen.at("role") == "slave" && seen.at("master_port") == std::to_string(master.port())) return one->server;
  }
  throw std::logic_error("this server has no replica that answers");
}

std::vector<redis_server*> redis_cluster::masters() {
  const auto ranges = any_node().command({"CLUSTER", "SLOTS"});
  std::vector<redis_server*> out;
  for (const auto& one : nodes_) {
    const auto has = [&](const redis_value& range) { return range[2][1] == std::int64_t{one->server.port()}; };
    if (std::any_of(ranges.list.begin(), ranges.list.end(), has)) out.push_back(&one->server);
  }
  return out;
}

redis_server& redis_cluster::failover(const redis_server& master) {
  auto& heir = replica_of(master);
  heir.command({"CLUSTER", "FAILOVER"});
  await("the replica has taken over", [&] { return heir.command({"ROLE"})[0] == "master"; });
  await("all nodes know of it", [&] {
    return std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
      if (!one->server.answers()) return false;
      const auto ranges = one->server.command({"CLUSTER", "SLOTS"});
      return std::any_of(ranges.list.begin(), ranges.list.end(),
                         [&](const redis_value& range) { return range[2][1] == std::int64_t{master.port()}; });
    });
  });
  return heir;
}

redis_server& redis_cluster::await_master_other_than(const redis_server& old, int slot) {
  redis_server* found = nullptr;
  await("the nodes agree on another master", [&] {
    found = agreed_master(slot);
    return found != nullptr && found != &old && found->answers() &&
           found->command({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
  });
  return *found;
}

void redis_cluster::begin_move(int slot, redis_server& to) {
  auto& from = master_of_slot(slot);
  to.command({"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", member_of(from).id});
  from.command({"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", member_of(to).id});
}

void redis_cluster::move_keys(int slot, redis_server& to) {
  auto& from = master_of_slot(slot);
  for (;;) {
    const auto keys = from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
    if (keys.size() == 0) return;
    redis_peek::words words{"MIGRATE", "127.0.0.1", std::to_string(to.port()), "", "0", "10000"};
    if (!password_.empty()) words.insert(words.end(), {"AUTH", password_});
    words.emplace_back("KEYS");
    for (const auto& key : keys.list) words.push_back(key.text);
    from.command(words);
  }
}

// The new master first: for a moment two say that the slot is theirs, but there is never none.
void redis_cluster::finish_move(int slot, redis_server& to) {
  auto& from = master_of_slot(slot);
  const redis_peek::words words{"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", member_of(to).id};
  to.command(words);
  from.command(words);
  await("all nodes know who has the slot", [&] { return agreed_master(slot) == &to; });
}

void redis_cluster::move(int slot, redis_server& to) {
  begin_move(slot, to);
  move_keys(slot, to);
  finish_move(slot, to);
}

}  // namespace interlock::test_support
