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
  const pg_rows made(PQprepare(with_.get(), "ask", sql::filled_in(postgres_store::ask_text, {}).c_str(),
                               static_cast<int>(types.size()), types.data()));
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
  const pg_rows got(PQexecPrepared(with_.get(), "ask", postgres_store::ask_parameters::count, parameters_.values(),
                                   parameters_.lengths(), postgres_store::ask_parameters::formats(), 1));
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

raw_session::raw_session(const std::string& conninfo) : with_(PQconnectdb(conninfo.c_str())) {
  constexpr Oid int8 = 20;
  const pg_rows lock(PQprepare(with_.get(), "lock", "select pg_try_advisory_lock($1)", 1, &int8));
  const pg_rows unlock(PQprepare(with_.get(), "unlock", "select pg_advisory_unlock($1)", 1, &int8));
  if (PQresultStatus(unlock.get()) != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
}

void raw_session::ask(const char* statement) {
  static const char key[8] = {0, 0, 0, 0, 0, 0, 0, 42};
  const char* const value = key;
  const int length = sizeof key, binary = 1;
  const pg_rows got(PQexecPrepared(with_.get(), statement, 1, &value, &length, &binary, 1));
  if (PQresultStatus(got.get()) != PGRES_TUPLES_OK || *PQgetvalue(got.get(), 0, 0) != 1)
    throw std::runtime_error(PQerrorMessage(with_.get()));
}

void raw_session::pair() {
  ask("lock");
  ask("unlock");
}

void raw_listener::listen_to_waiters() {
  const pg_rows all(PQexec(with_.get(), "select 'listen ' || quote_ident(channel) from interlock.il_claim"));
  for (int row = 0; row < PQntuples(all.get()); ++row) pg_rows(PQexec(with_.get(), PQgetvalue(all.get(), row, 0)));
}

std::uint64_t raw_listener::heard() {
  const pg_rows one(PQexec(with_.get(), "select 1"));  // what was sent before is here when this is
  std::uint64_t out = 0;
  for (pg_notice each(PQnotifies(with_.get())); each; each.reset(PQnotifies(with_.get()))) ++out;
  return out;
}

}  // namespace bench

#endif
