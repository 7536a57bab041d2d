// SPDX-License-Identifier: MIT
#include "support/sql_application.hpp"

#ifdef INTERLOCK_WITH_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef INTERLOCK_WITH_MYSQL
#include <mysql.h>
#endif

#include <memory>
#include <stdexcept>

namespace interlock::test_support {

#ifdef INTERLOCK_WITH_POSTGRES
postgres_server& postgres_application::server() {
  static postgres_server one;
  return one;
}

postgres_application::postgres_application() : with_(PQconnectdb(server().conninfo().c_str())) {}
postgres_application::~postgres_application() { PQfinish(static_cast<PGconn*>(with_)); }

int postgres_application::rows(std::string_view text, const std::vector<std::string>& values) {
  std::vector<const char*> all;
  for (const auto& one : values) all.push_back(one.c_str());
  const std::unique_ptr<PGresult, void (*)(PGresult*)> got(
      PQexecParams(static_cast<PGconn*>(with_), std::string(text).c_str(), static_cast<int>(all.size()), nullptr,
                   all.data(), nullptr, nullptr, 0),
      PQclear);
  const char* const wrong = PQresultErrorField(got.get(), PG_DIAG_SQLSTATE);
  state_ = wrong == nullptr ? "" : wrong;
  const auto status = PQresultStatus(got.get());
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? PQntuples(got.get()) : -1;
}
#endif

#ifdef INTERLOCK_WITH_MYSQL
mariadb_server& mariadb_application::server() {
  static mariadb_server one;
  [[maybe_unused]] static const auto made = one.command("create database app");
  return one;
}

mariadb_application::mariadb_application() : with_(mysql_init(nullptr)) {
  const auto socket = server().socket();
  if (mysql_real_connect(static_cast<MYSQL*>(with_), nullptr, "root", nullptr, "app", 0, socket.c_str(), 0) == nullptr)
    throw std::runtime_error(mysql_error(static_cast<MYSQL*>(with_)));
}
mariadb_application::~mariadb_application() { mysql_close(static_cast<MYSQL*>(with_)); }

// Prepared, as drivers do: `begin` and the like can be, too.
int mariadb_application::rows(std::string_view text, const std::vector<std::string>& values) {
  const std::unique_ptr<MYSQL_STMT, my_bool (*)(MYSQL_STMT*)> one(mysql_stmt_init(static_cast<MYSQL*>(with_)),
                                                                  mysql_stmt_close);
  std::vector<MYSQL_BIND> binds(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = const_cast<char*>(values[i].data());
    binds[i].buffer_length = values[i].size();
  }
  const bool done = mysql_stmt_prepare(one.get(), text.data(), text.size()) == 0 &&
                    (values.empty() || mysql_stmt_bind_param(one.get(), binds.data()) == 0) &&
                    mysql_stmt_execute(one.get()) == 0 && mysql_stmt_store_result(one.get()) == 0;
  state_ = done ? "" : std::to_string(mysql_stmt_errno(one.get()));
  if (!done) return -1;
  return static_cast<int>(mysql_stmt_field_count(one.get()) > 0 ? mysql_stmt_num_rows(one.get())
                                                                : mysql_stmt_affected_rows(one.get()));
}
#endif

}  // namespace interlock::test_support
