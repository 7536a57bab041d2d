// SPDX-License-Identifier: MIT
#pragma once

#include "support/postgres_server.hpp"

#include "backends/postgres/handle.hpp"
#include "backends/postgres/wire.hpp"

#include <interlock/backend.hpp>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// The lock tables of a server, asked one thing at a time, with a clock that says what the test wants.
class clocked_postgres {
 public:
  using server = postgres_server;

  clocked_postgres(const postgres_server& on, backend_events& events);
  void set_clock(std::chrono::microseconds since_1970);
  void deliver_news();

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void look(std::span<const claim> whom, inline_work here, completion<standings> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done);
  void survey(const survey_query& what, completion<survey_page> done);
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done);

 private:
  postgres_store::pg_rows run(const std::string& text);
  std::vector<sql::reply> ask(const std::vector<sql::question>& what);

  backend_events& events_;
  postgres_store::pg_handle with_;
  postgres_store::ask_parameters parameters_;
};

}  // namespace interlock::test_support
