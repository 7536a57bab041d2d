// SPDX-License-Identifier: MIT
#pragma once

#include "support/clocked_tables.hpp"
#include "support/postgres_server.hpp"

#include "backends/postgres/handle.hpp"
#include "backends/postgres/wire.hpp"

#include <interlock/backend.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace interlock::test_support {

/// With a clock that says what the test wants.
class clocked_postgres final : public clocked_tables {
 public:
  using server = postgres_server;

  clocked_postgres(const postgres_server& on, backend_events& events);
  void set_clock(std::chrono::microseconds since_1970);
  void deliver_news();

  void survey(const survey_query& what, completion<survey_page> done);

 private:
  postgres_store::pg_rows run(const std::string& text);
  std::vector<sql::reply> ask(const std::vector<sql::question>& what) override;

  backend_events& events_;
  postgres_store::pg_handle with_;
  postgres_store::ask_parameters parameters_;
};

}  // namespace interlock::test_support
