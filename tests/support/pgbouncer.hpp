// SPDX-License-Identifier: MIT
#pragma once

#include "support/postgres_server.hpp"

#include <string>

namespace interlock::test_support {

/// PgBouncer in front of a server. "session": each client has a session of the server's while it is connected.
/// "transaction": for one transaction at a time.
class pgbouncer {
 public:
  pgbouncer(const postgres_server& server, const std::string& mode);
  [[nodiscard]] std::string url(const std::string& query = {}) const {
    return postgres_server::url_at(port_.number(), query);
  }

 private:
  reserved_port port_;
  server_process process_;
};

}  // namespace interlock::test_support
