// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::zookeeper_store {

/// zk://host:port,host:port/chroot: see docs/backends/zookeeper.md.
result<std::unique_ptr<backend>> open_zookeeper(const backend_environment& environment);

}  // namespace interlock::inline v1::zookeeper_store
