// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/dial.hpp"
#include "backends/mysql/talk.hpp"

namespace interlock::inline v1::mysql_store {

/// A connection to be made.
result<my_handle> begin(const mysql_settings& settings, bool by_tcp);

/// Connects, and says nothing more to a server that does not encrypt as the settings want it.
result<void> reach(talk& to, MYSQL* with, const mysql_settings& settings,
                   const std::pair<std::string, std::uint16_t>& host);

/// Whatever the settings of the server and the user are, those of this session.
result<void> set_up(talk& to, MYSQL* with, milliseconds timeout, std::chrono::seconds silence);

/// What has to be known of the server. `before`: of the session that broke.
result<server_facts> introduce(talk& to, MYSQL* with, const server_facts& before);

}  // namespace interlock::inline v1::mysql_store
