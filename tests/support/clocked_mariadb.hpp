// SPDX-License-Identifier: MIT
#pragma once

#include "support/mariadb_server.hpp"

#include "backends/mysql/asker.hpp"

#include <interlock/backend.hpp>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace interlock::test_support {

/// The lock tables of a server, asked one thing at a time, with a clock that says what the test wants.
class clocked_mariadb {
 public:
  using server = mariadb_server;
  static constexpr bool tells_nobody = true;

  clocked_mariadb(const mariadb_server& on, backend_events&);
  void set_clock(std::chrono::microseconds since_1970);

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void look(std::span<const claim> whom, inline_work here, completion<standings> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done);
  void survey(const survey_query& what, completion<survey_page> done);
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done);

 private:
  /// Has the answer before it returns.
  void run(const std::shared_ptr<sql::errand>& what);
  void say(const std::string& text);
  std::vector<sql::reply> ask(std::vector<sql::question> what);

  std::unique_ptr<mysql_store::asker> with_;
};

}  // namespace interlock::test_support
