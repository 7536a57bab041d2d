// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/settings.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <string>

namespace interlock::inline v1::mysql_store {

/// Whether one of the URL's hosts would end leases early if it took over from `primary`, one of them, whose clock
/// judges now. A primary does not know its replicas' clocks, so each is asked. Blocks.
store_check check_replica_clocks(const mysql_settings& settings, const std::string& primary,
                                 const std::atomic<bool>& cancelled);

/// As people write it: db.example:3306.
std::string host_and_port(const std::pair<std::string, std::uint16_t>& host);

}  // namespace interlock::inline v1::mysql_store
