// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/connection.hpp"
#include "backends/redis/resp.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Which master has which slot, as one node of the cluster sees it.
struct cluster_map {
  static constexpr std::size_t slots = 16384;
  static constexpr std::uint16_t nobody = 0xffff;

  std::vector<endpoint> masters{};
  std::array<std::uint16_t, slots> owner{};  ///< index into masters

  cluster_map() { owner.fill(nobody); }
  /// The index of this master, added if it is new; `nobody` if there are too many.
  std::uint16_t index_of(const endpoint& where);
};

/// What CLUSTER SLOTS said. `asked` stands in where a node says it does not know its own address.
std::optional<cluster_map> read_cluster_map(reply slots, const endpoint& asked);

/// "MOVED 3999 127.0.0.1:6381" or "ASK ...": the slot and where to go.
struct redirect {
  std::uint16_t slot = 0;
  endpoint where{};
};
std::optional<redirect> read_redirect(std::string_view error, const endpoint& asked);

}  // namespace interlock::inline v1::redis_store
