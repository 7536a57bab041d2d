// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/fence.hpp>

#ifdef INTERLOCK_WITH_POSTGRES
#include "support/postgres_server.hpp"
#endif
#ifdef INTERLOCK_WITH_MYSQL
#include "support/mariadb_server.hpp"
#endif

#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// An application's own connection to a database, which knows nothing of interlock. What a test needs to know of the
/// database beside its texts is here too.
#ifdef INTERLOCK_WITH_POSTGRES
class postgres_application {
 public:
  static constexpr auto dialect = sql_dialect::postgres;
  static constexpr std::string_view busy_row = "55P03";
  static postgres_server& server();

  postgres_application();
  postgres_application(const postgres_application&) = delete;
  postgres_application& operator=(const postgres_application&) = delete;
  ~postgres_application();
  /// How many rows it returned, or, if it returns none, changed; -1: it was refused, see state().
  int rows(std::string_view text, const std::vector<std::string>& values = {});
  [[nodiscard]] const std::string& state() const { return state_; }
  static bool is_admitted(int rows) { return rows == 1; }
  std::string value(const std::string& text) { return server().value(text); }

 private:
  void* with_;
  std::string state_;
};
#endif

#ifdef INTERLOCK_WITH_MYSQL
class mariadb_application {
 public:
  static constexpr auto dialect = sql_dialect::mysql;
  static constexpr std::string_view busy_row = "1205";
  static mariadb_server& server();

  mariadb_application();
  mariadb_application(const mariadb_application&) = delete;
  mariadb_application& operator=(const mariadb_application&) = delete;
  ~mariadb_application();
  int rows(std::string_view text, const std::vector<std::string>& values = {});
  [[nodiscard]] const std::string& state() const { return state_; }
  static bool is_admitted(int rows) { return rows >= 3; }
  std::string value(const std::string& text) { return server().value("use app; " + text); }

 private:
  void* with_;
  std::string state_;
};
#endif

}  // namespace interlock::test_support
