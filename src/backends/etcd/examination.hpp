// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/link.hpp"

namespace interlock::inline v1::etcd_store {

/// How the cluster is set up and how its members are, for `interlock doctor`.
void examine(const std::shared_ptr<link>& along, const etcd_settings& settings,
             completion<std::vector<store_check>> done);

}  // namespace interlock::inline v1::etcd_store
