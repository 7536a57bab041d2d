// SPDX-License-Identifier: MIT
#pragma once

#include "peer_process.hpp"

#include <string>
#include <vector>

namespace bench {

/// Where ./dev has put them: tests/interop/*/install, each into its own folder in this one.
peer_library redisson_in(const std::string& folder);
/// This one knows "pass".
peer_library curator_in(const std::string& folder);
/// These two take several addresses as well, and then want a majority.
peer_library redsync_in(const std::string& folder);
peer_library node_redlock_in(const std::string& folder, int version);
/// concurrency.Mutex on one etcd: locks of their own, or all the same one.
peer_library go_etcd_in(const std::string& folder);
peer_library go_etcd_handoff_in(const std::string& folder);

}  // namespace bench
