// SPDX-License-Identifier: MIT
#pragma once

#include <mysql.h>

#include <memory>

/// Connector/C's objects, ended by whoever has them.
namespace interlock::inline v1::mysql_store {

struct finish {
  void operator()(MYSQL* one) const noexcept { mysql_close(one); }
  void operator()(MYSQL_STMT* one) const noexcept { mysql_stmt_close(one); }
  void operator()(MYSQL_RES* one) const noexcept { mysql_free_result(one); }
};
using my_handle = std::unique_ptr<MYSQL, finish>;
using my_statement = std::unique_ptr<MYSQL_STMT, finish>;
using my_rows = std::unique_ptr<MYSQL_RES, finish>;

}  // namespace interlock::inline v1::mysql_store
