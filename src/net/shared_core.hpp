// SPDX-License-Identifier: MIT
#pragma once

namespace interlock::inline v1::net {

/// Both ends of this TCP connection are on this host.
[[nodiscard]] bool stays_on_host(int socket) noexcept;

/// What arrived last was sent by the very core this thread runs on; only of a connection that stays on this host does
/// that say anything. The other end cannot work while we do, then.
[[nodiscard]] bool shares_core(int socket) noexcept;

}  // namespace interlock::inline v1::net
