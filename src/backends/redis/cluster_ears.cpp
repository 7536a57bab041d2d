// SPDX-License-Identifier: MIT
#include "backends/redis/cluster_ears.hpp"

#include <utility>

namespace interlock::inline v1::redis_store {

std::vector<cluster_ears::missing> cluster_ears::add(std::string_view channel, const finder& shard) {
  const auto [at, fresh] = channels_.try_emplace(std::string(channel));
  auto& here = at->second;
  ++here.wanted;
  here.plain = nullptr;
  std::vector<missing> out;
  look(at->first, here, shard, out);
  return out;
}

std::optional<cluster_ears::place> cluster_ears::remove(std::string_view channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end() || --found->second.wanted > 0) return {};
  auto was = std::move(found->second);
  channels_.erase(found);
  return was;
}

void cluster_ears::listen_at(pointer any) {
  if (!any_) any_ = std::move(any);
}

std::vector<cluster_ears::missing> cluster_ears::settle(const finder& shard) {
  std::vector<missing> out;
  for (auto& [channel, here] : channels_) look(channel, here, shard, out);
  return out;
}

void cluster_ears::look(const std::string& channel, place& here, const finder& shard, std::vector<missing>& out) {
  if (any_ && here.plain != any_) out.push_back({.at = here.plain = any_, .channel = channel});
  auto owner = shard(channel);
  if (owner && here.shard != owner)
    out.push_back({.at = here.shard = std::move(owner), .channel = channel, .of_shard = true});
}

void cluster_ears::forget(const connection& which) noexcept {
  if (any_.get() == &which) any_ = nullptr;
  for (auto& [channel, here] : channels_) {
    if (here.plain.get() == &which) here.plain = nullptr;
    if (here.shard.get() == &which) here.shard = nullptr;
  }
}

void cluster_ears::unheard(std::string_view channel, const connection& which) noexcept {
  const auto found = channels_.find(channel);
  if (found != channels_.end() && found->second.shard.get() == &which) found->second.shard = nullptr;
}

}  // namespace interlock::inline v1::redis_store
