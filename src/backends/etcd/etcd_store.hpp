// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>

namespace interlock::inline v1::etcd_store {

/// etcd://, etcds://
result<std::unique_ptr<backend>> open_etcd(const backend_environment& environment);

}  // namespace interlock::inline v1::etcd_store
