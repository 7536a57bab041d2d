// SPDX-License-Identifier: MIT
#pragma once

#include <libpq-fe.h>

#include <memory>

/// libpq's objects, ended by whoever has them.
namespace interlock::inline v1::postgres_store {

struct finish {
  void operator()(PGconn* one) const noexcept { PQfinish(one); }
  void operator()(PGresult* one) const noexcept { PQclear(one); }
  void operator()(PGnotify* one) const noexcept { PQfreemem(one); }
};
using pg_handle = std::unique_ptr<PGconn, finish>;
using pg_rows = std::unique_ptr<PGresult, finish>;
using pg_notice = std::unique_ptr<PGnotify, finish>;

}  // namespace interlock::inline v1::postgres_store
