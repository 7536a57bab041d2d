// SPDX-License-Identifier: MIT
#pragma once

#include "support/clocked_tables.hpp"
#include "support/mariadb_server.hpp"

#include "backends/mysql/asker.hpp"

#include <interlock/backend.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace interlock::test_support {

/// With a clock that says what the test wants.
class clocked_mariadb final : public clocked_tables {
 public:
  using server = mariadb_server;
  static constexpr bool tells_nobody = true;

  clocked_mariadb(const mariadb_server& on, backend_events&);
  void set_clock(std::chrono::microseconds since_1970);

  void survey(const survey_query& what, completion<survey_page> done);

 private:
  /// Has the answer before it returns.
  void run(const std::shared_ptr<sql::errand>& what);
  void say(const std::string& text);
  std::vector<sql::reply> ask(const std::vector<sql::question>& what) override;

  std::unique_ptr<mysql_store::asker> with_;
};

}  // namespace interlock::test_support
