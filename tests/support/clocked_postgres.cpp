// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/clocked_postgres.hpp"

#include "backends/postgres/asker.hpp"
#include "backends/postgres/news.hpp"
#include "backends/postgres/objects.hpp"
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/survey.sql.hpp"

#include <stdexcept>

namespace interlock::test_support {

using postgres_store::pg_notice;
using postgres_store::pg_rows;

namespace {

constexpr auto channel = "clocked";

std::string with_setting_as_clock(const std::string& text) {
  return with_own_clock(text, "clock_timestamp()", "current_setting('test.clock')::timestamptz");
}

}  // namespace

clocked_postgres::clocked_postgres(const postgres_server& on, backend_events& events)
    : events_(events), with_(PQconnectdb(on.conninfo().c_str())) {
  const postgres_store::object_names names;
  PQsetNoticeProcessor(
      with_.get(), [](void*, const char*) {}, nullptr);
  run("set test.clock = '2020-01-01'");
  run(with_setting_as_clock(postgres_store::schema_text(names)));
  run("listen " + std::string(channel));
  const auto prepare = [&](const char* name, const std::string& text, const std::vector<Oid>& types) {
    const pg_rows made(PQprepare(with_.get(), name, text.c_str(), static_cast<int>(types.size()), types.data()));
    if (PQresultStatus(made.get()) != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
  };
  prepare("ask", sql::filled_in(postgres_store::ask_text, names), postgres_store::ask_types());
  prepare("survey", with_setting_as_clock(sql::filled_in(embedded::postgres_survey_sql, names)), {17, 17, 20});
}

pg_rows clocked_postgres::run(const std::string& text) {
  pg_rows got(PQexec(with_.get(), text.c_str()));
  const auto status = PQresultStatus(got.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
  return got;
}

void clocked_postgres::set_clock(std::chrono::microseconds since_1970) {
  run("select set_config('test.clock', (timestamptz '1970-01-01 00:00:00+00' + " + std::to_string(since_1970.count()) +
      " * interval '1 microsecond')::text, false)");
}

void clocked_postgres::deliver_news() {
  run("select 1");
  for (pg_notice one(PQnotifies(with_.get())); one; one.reset(PQnotifies(with_.get())))
    postgres_store::deliver(one->extra, events_);
}

std::vector<sql::reply> clocked_postgres::ask(const std::vector<sql::question>& what) {
  std::vector<const sql::question*> all;
  for (const auto& one : what) all.push_back(&one);
  parameters_.write(all, channel, "7\nhost\nprogram\npurpose");
  const pg_rows rows(PQexecPrepared(with_.get(), "ask", postgres_store::ask_parameters::count, parameters_.values(),
                                    parameters_.lengths(), postgres_store::ask_parameters::formats(), 1));
  if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
  std::vector<sql::reply> out;
  for (int row = 0; row < PQntuples(rows.get()); ++row) out.push_back(postgres_store::read_reply(rows.get(), row));
  return out;
}

void clocked_postgres::survey(const survey_query& what, completion<survey_page> done) {
  const auto errand = postgres_store::survey_errand(what, std::move(done));
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (std::size_t i = 0; i < errand->parameters.size(); ++i) {
    values.push_back(errand->parameters[i].data());
    lengths.push_back(static_cast<int>(errand->parameters[i].size()));
    formats.push_back(1);
  }
  pg_rows got(PQexecPrepared(with_.get(), "survey", static_cast<int>(values.size()), values.data(), lengths.data(),
                             formats.data(), 1));
  if (PQresultStatus(got.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(with_.get()));
  const postgres_store::result_rows rows(std::move(got));
  errand->read(&rows);
}

}  // namespace interlock::test_support

#endif
