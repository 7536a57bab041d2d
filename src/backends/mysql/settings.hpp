// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/user_lock_key.hpp"
#include "backends/sql/objects.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace interlock::inline v1::mysql_store {

struct mysql_settings {
  enum class encryption { none, unverified, verified };

  std::vector<std::pair<std::string, std::uint16_t>> hosts{};  ///< tried in turn; none: the socket
  std::string socket{};                                        ///< a unix socket's path
  std::string user{}, database{};
  std::function<std::string()> password{};  ///< asked at every connection
  std::string shown{};                      ///< where it is, for people
  encryption tls = encryption::none;
  std::string ca{}, certificate{}, key{};
  sql::object_names names{.quote = '`'};
  bool sessions = false;  ///< locks that belong to sessions, not tables
  key_rule keys = key_rule::medallion;
  bool may_create = true;               ///< tables and procedures, if they are not there
  milliseconds timeout{2'000};          ///< of one message
  milliseconds connect_timeout{5'000};  ///< until it can be used
};

/// What the URL calls the tables.
result<sql::object_names> read_names(const store_url& url);
result<mysql_settings> read_settings(const backend_environment& environment);

/// All that `interlock schema mysql` prints, for the command-line client; harmless if run again.
std::string schema_text(const sql::object_names& names);
/// The same, one statement each.
std::vector<std::string> schema_statements(const sql::object_names& names);

/// The layout that this code speaks; written in the table of meta data.
inline constexpr int schema_version = 1;

}  // namespace interlock::inline v1::mysql_store
