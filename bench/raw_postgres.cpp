// SPDX-License-Identifier: MIT
#if INTERLOCK_WITH_POSTGRES

#include "raw_postgres.hpp"

#include "backends/postgres/objects.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace bench {

using namespace interlock;
using namespace interlock::postgres_store;

raw_postgres::raw_postgres(const std::string& conninfo, std::string name)
    : with_(PQconnectdb(conninfo.c_str())), name_(std::move(name)) {
  const auto types = ask_types();
  const pg_rows made(PQprepare(with_.get(), "ask", sql::filled_in(ask_text, {}).c_str(), static_cast<int>(types.size()),
                               types.data()));
  if (PQresultStatus(made.get()) != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
  // As the store sets up its sessions.
  const pg_rows set(PQexec(with_.get(), "set enable_seqscan = off; set enable_bitmapscan = off; "
                                        "set plan_cache_mode = force_generic_plan; set search_path = pg_catalog"));
  claim_.name = name_;
  claim_.lease = std::chrono::seconds(30);
  claim_.wait_lease = std::chrono::seconds(10);
}

void raw_postgres::ask(const sql::question& what) {
  const std::array<const sql::question*, 1> all{&what};
  parameters_.write(all, "raw", "1\nhost\nprogram\n");
  const pg_rows got(PQexecPrepared(with_.get(), "ask", ask_parameters::count, parameters_.values(),
                                   parameters_.lengths(), ask_parameters::formats(), 1));
  if (PQresultStatus(got.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
}

void raw_postgres::acquire() {
  std::array<std::byte, 16> secret{};
  ++turn_;
  std::memcpy(secret.data(), &turn_, sizeof turn_);
  std::memcpy(secret.data() + 8, name_.data(), std::min<std::size_t>(8, name_.size()));
  claim_.secret = claim_secret(secret);
  ask(sql::to_enter(claim_, entry::queue));
}

void raw_postgres::release() { ask(sql::to_leave(claim_, finality::answered)); }

}  // namespace bench

#endif
