// SPDX-License-Identifier: MIT
#pragma once

#include "support/mariadb_server.hpp"

#include <memory>
#include <string>

namespace interlock::test_support {

/// Stands between clients without a password and a MariaDB server, as a pooler does: every client has two connections
/// of the server's, its own, where its statements are prepared, and one that its queries are lent.
class mariadb_pooler {
 public:
  enum class lends {
    nothing,
    every_other_query,
    every_query,
    everything  ///< from the beginning: a client has one connection, and another was named in the greeting
  };
  mariadb_pooler(const mariadb_server& server, lends what);
  ~mariadb_pooler();

  [[nodiscard]] std::string url(const std::string& query = {}) const;
  void lend(lends what);

 private:
  class inside;
  std::unique_ptr<inside> inside_;
};

}  // namespace interlock::test_support
