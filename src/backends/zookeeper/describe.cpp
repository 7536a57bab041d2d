// SPDX-License-Identifier: MIT
#include "backends/zookeeper/notes.hpp"
#include "backends/zookeeper/survey.hpp"

#include <algorithm>
#include <chrono>

/// What nodes say to people who look.
namespace interlock::inline v1::zookeeper_store {
namespace {

milliseconds age_of(const node_stat& stat) {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  return std::max(now - milliseconds(stat.ctime), milliseconds{0});  // two wall clocks: for show only
}

bool is_text(std::string_view data) {
  return !data.empty() && data.size() <= 256 &&
         std::all_of(data.begin(), data.end(), [](char one) { return one > ' ' && one < '\x7f'; });
}

claim_info claim_of(const seen_node& from, bool holds, lock_mode mode) {
  claim_info out;
  out.id = id_of(from.node);
  out.mode = mode;
  out.age = age_of(from.stat);
  out.lease_left = milliseconds::max();
  const auto notes = read_notes(from.data);
  if (notes) {
    out.host = notes->host;
    out.program = notes->program;
    out.purpose = notes->purpose;
    out.pid = notes->pid;
    out.permits = notes->permits;
    out.lease_left = notes->lease;
  } else if (is_text(from.data) && from.data != revoked) {
    out.host = from.data;  // Curator writes its address there, kazoo what its user says
  }
  const bool renamed = notes && notes->renamed != 0 && notes->renamed == from.stat.version;
  if (holds) out.token = fencing_token(static_cast<std::uint64_t>(renamed ? from.stat.mzxid : from.stat.czxid));
  if (holds && notes && notes->token != 0) out.token = fencing_token(notes->token);
  return out;
}

}  // namespace

lock_info describe(const seen_lock& from, const recipe& how) {
  lock_info out;
  out.name = from.name;
  const auto read = [&](const std::string& node) -> const seen_node* {
    const auto found = from.nodes.find(node);
    return found == from.nodes.end() ? nullptr : &found->second;
  };
  const auto holding = holders_in(from.line);
  for (std::size_t i = 0; i < from.line.size(); ++i) {
    const auto* node = read(from.line[i].node);
    if (node == nullptr) continue;  // gone between the list and its reading
    const auto mode = from.line[i].reads && !how.reader.empty() ? lock_mode::shared : lock_mode::exclusive;
    auto one = claim_of(*node, i < holding, mode);
    if (one.token && mode == lock_mode::shared) one.token = fencing_token(std::max(from.notes.token, from.made));
    (i < holding ? out.holders : out.waiters).push_back(std::move(one));
  }
  std::uint32_t limit = 0;
  for (const auto& lease : from.pool) {
    const auto* node = read(lease);
    if (node == nullptr) continue;
    auto one = claim_of(*node, true, lock_mode::exclusive);
    if (const auto notes = read_notes(node->data)) limit = notes->limit;
    const auto known =
        std::find_if(out.holders.begin(), out.holders.end(), [&](const claim_info& each) { return each.id == one.id; });
    if (known == out.holders.end()) out.holders.push_back(std::move(one));
  }
  for (const auto& one : line_up(curator_mutex, {from.queue.begin(), from.queue.end()}))
    if (const auto* node = read(one.node)) {
      out.waiters.push_back(claim_of(*node, false, lock_mode::exclusive));
      if (const auto notes = read_notes(node->data)) limit = notes->limit;
    }
  if (limit != 0) out.limit = limit;
  if (limit == 0 && !from.pool.empty()) out.limit = static_cast<std::uint32_t>(from.pool.size());
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
