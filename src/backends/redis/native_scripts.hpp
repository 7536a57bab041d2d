// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"

namespace interlock::inline v1::redis_store::native {

/// The operations of the native layout; what each takes and answers stands at the top of its .lua file. Each is put
/// together when it is first asked for.
const script& enter_script();
const script& look_script();
const script& leave_script();
const script& bundle_script();
const script& convert_script();
const script& evict_script();
const script& show_script();

}  // namespace interlock::inline v1::redis_store::native
