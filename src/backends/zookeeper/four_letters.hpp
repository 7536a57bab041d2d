// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/session.hpp"

#include <optional>
#include <string>

namespace interlock::inline v1::zookeeper_store {

/// What a server says to four letters ("srvr"), which it takes in the place of a session. Blocks: for threads that may.
struct spoken {
  std::string text{};
  std::string wrong{};  ///< why there is no text
  /// It is there, and does not want to be asked that.
  [[nodiscard]] bool refused() const;
  /// "Mode: leader", "zk_watch_count\t12": what stands behind `key` on its line.
  [[nodiscard]] std::optional<std::string> after(std::string_view key) const;
};
spoken ask_four_letters(const endpoint& where, const session_settings& with, std::string_view word);

/// The shortest session the server grants, in ms, found out by asking for a shorter one; 0: it does not say.
milliseconds shortest_session(const endpoint& where, const session_settings& with);

}  // namespace interlock::inline v1::zookeeper_store
