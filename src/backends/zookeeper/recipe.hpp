// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/info.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How contenders of a lock are written, in the formats of other libraries.
namespace interlock::inline v1::zookeeper_store {

/// One way of writing contenders. All who contend for a name must use the same.
struct recipe {
  std::string_view name{};    ///< as in the URL
  std::string_view writer{};  ///< what stands before the number of an exclusive contender
  std::string_view reader{};  ///< of a shared one; empty: there are none
  bool curator = true;        ///< Curator's protection in front, or kazoo's bare 32 digits
};

inline constexpr recipe curator_mutex{"mutex", "lock-", "", true};
inline constexpr recipe curator_rw{"rw", "__WRIT__", "__READ__", true};
inline constexpr recipe curator_latch{"latch", "latch-", "", true};
inline constexpr recipe kazoo_lock{"kazoo", "__lock__", "__rlock__", false};
inline constexpr std::string_view lease_marker = "lease-";

/// What a contender's node begins with, up to its number. It is made of the claim's public id, so that whoever made it
/// finds it again after a lost answer, and whoever knows the claim's secret can find it too.
std::string node_prefix(const recipe& how, const claim_id& id, std::string_view marker);

/// A child of a lock's node that takes part in the queue.
struct contender {
  std::string node{};
  std::int32_t number = 0;
  bool reads = false;
};

/// Numbers run over after 2^31: what was made half a circle ago is taken to be older.
constexpr bool comes_before(std::int32_t left, std::int32_t right) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) - static_cast<std::uint32_t>(right)) < 0;
}

/// Whether nothing was made between the two below their parent: its numbers are given one by one, to every child.
constexpr bool comes_next(std::int32_t left, std::int32_t right) noexcept {
  return static_cast<std::uint32_t>(right) - static_cast<std::uint32_t>(left) == 1;
}

std::optional<contender> read_contender(const recipe& how, std::string_view child);
/// Sorted as they will be served. Children that are none of this recipe's contenders are left out.
std::vector<contender> line_up(const recipe& how, const std::vector<std::string_view>& children);
/// The recipe by which somebody else contends for the same name, in vain: the two do not see each other.
const recipe* foreign_recipe(const recipe& ours, const std::vector<std::string_view>& children);

/// The claim a node belongs to; for nodes of other libraries, one made up from the node's name.
claim_id id_of(std::string_view node);

/// Where a contender stands.
struct place {
  bool there = false;
  bool granted = false;
  std::uint32_t ahead = 0;   ///< waiting before it
  std::uint32_t behind = 0;  ///< waiting at all, itself left out
  std::string watch{};       ///< the node whose end may change that; empty if granted
};
place find_place(const std::vector<contender>& line, std::string_view node);

/// How many at the head of the line hold the lock.
std::size_t holders_in(const std::vector<contender>& line) noexcept;

}  // namespace interlock::inline v1::zookeeper_store
