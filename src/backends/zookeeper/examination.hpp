// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/settings.hpp"

#include <interlock/backend.hpp>

#include <string>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

/// How the servers are and how they are set up, for `interlock doctor`. Each server of the URL is asked by itself, on a
/// thread that may block, because a session only ever sees one of them.
std::vector<store_check> examine_servers(const zookeeper_settings& settings, milliseconds longest_session);

/// Who may do what with the node below which the locks are.
struct access {
  std::int32_t rights = 0;
  std::string scheme{}, who{};
};
store_check check_access(const zookeeper_settings& settings, int error, const std::vector<access>& all);
/// The ensemble by its own account: what stands in /zookeeper/config.
store_check check_members(int error, std::string_view config);

}  // namespace interlock::inline v1::zookeeper_store
