// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/advisory_key.hpp"
#include "backends/postgres/objects.hpp"

#include <interlock/backend.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::postgres_store {

struct postgres_settings {
  std::vector<std::pair<std::string, std::string>> parameters{};  ///< libpq's, without the password
  std::function<std::string()> password{};                        ///< asked at every connection
  std::string shown{};                                            ///< where it is, for people
  object_names names{};
  bool sessions = false;                ///< mode=session: advisory locks of the connection, no tables
  key_rule keys = key_rule::sha256;     ///< of advisory locks
  bool may_create = true;               ///< tables and functions, if they are not there
  bool sticky_pooler = false;           ///< one may be in between: each of its clients keeps its session
  bool listens = true;                  ///< for news of grants; otherwise waiters look again and again
  milliseconds timeout{2'000};          ///< of one message
  milliseconds connect_timeout{5'000};  ///< until it can be used
};

/// What the URL calls the tables.
result<object_names> read_names(const store_url& url);
result<postgres_settings> read_settings(const backend_environment& environment);

}  // namespace interlock::inline v1::postgres_store
