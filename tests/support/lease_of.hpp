// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/options.hpp>

namespace interlock::test_support {

/// Nothing but the lease differs from the defaults.
inline acquire_options lease_of(milliseconds lease) {
  acquire_options out;
  out.lease = lease;
  return out;
}

}  // namespace interlock::test_support
