// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/wire.hpp"

#include "etcd.pb.h"

/// Our plain values as etcd's messages, and back. For the files that send them.
namespace interlock::inline v1::etcd_store {

namespace wire = ::interlock::etcd::wire;

void write(const transaction& what, wire::TxnRequest& to);
/// The strings are taken out of the message.
outcome read(wire::TxnResponse& from, revision at);

}  // namespace interlock::inline v1::etcd_store
