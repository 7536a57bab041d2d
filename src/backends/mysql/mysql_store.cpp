// SPDX-License-Identifier: MIT
#include "backends/mysql/mysql_store.hpp"

#include "backends/mysql/asker.hpp"
#include "backends/mysql/dial.hpp"
#include "backends/mysql/examination.hpp"
#include "backends/mysql/statements.hpp"
#include "backends/mysql/user_lock_words.hpp"
#include "backends/sql/session_store.hpp"
#include "backends/sql/survey.hpp"
#include "backends/sql/table_store.hpp"
#include "core/origin.hpp"

#include <chrono>
#include <utility>

namespace interlock::inline v1::mysql_store {
namespace {

store_traits traits_of_mysql(const server_facts& found) {
  store_traits out;
  out.caveat = weak_points(found);
  out.guarantee = out.caveat.empty() ? guarantee::strict : guarantee::best_effort;
  out.convert = out.fifo = out.permits = out.push = out.shared = out.survey = out.tokens = true;
  out.store = "mysql";
  out.layout = "table";
  out.lease_min = milliseconds{10};
  out.lease_max = std::chrono::hours{24 * 30};
  return out;
}

result<std::unique_ptr<backend>> open_session_locks(const backend_environment& environment,
                                                    const mysql_settings& settings) {
  auto by = std::make_shared<mysql_dial>(settings, std::string{});
  store_traits traits;
  traits.store = "mysql";
  traits.lease_max = std::chrono::hours{24 * 30};  // wait_timeout goes up to a year
  auto words = std::make_unique<user_lock_words>(settings.keys, by);
  return sql::open_sessions(environment, {.shown = settings.shown, .timeout = settings.timeout}, by, std::move(words),
                            std::move(traits));
}

std::shared_ptr<sql::errand> survey_errand(const sql::object_names& names, const survey_query& what,
                                           completion<survey_page> done) {
  const auto most = sql::range_of(what).most;
  auto out = std::make_shared<sql::errand>(nullptr, std::vector<std::string>{},
                                           [most, done = std::move(done)](const result<const sql::rows*>& got) mutable {
                                             if (!got) return done(got.error());
                                             done(sql::read_page(**got, most));
                                           });
  out->text = survey_text(names, what);
  return out;
}

sql::table_statements words_for(const sql::object_names& names, const std::shared_ptr<mysql_dial>& by, reactor& loop) {
  sql::table_statements out{.tidy = tidy_statement};
  out.survey = [names](const survey_query& what, completion<survey_page> done) {
    return survey_errand(names, what, std::move(done));
  };
  out.examine = [names, by, &loop](completion<sql::checks> done) {
    return examination_errand(names, by->facts(), [by, &loop, done = std::move(done)](result<sql::checks> got) mutable {
      if (!got) return done(got.error());
      by->examine_hosts(loop, std::move(*got), std::move(done));
    });
  };
  out.still_waiting = [names](std::span<const sql::waiting_room::seat> whom) {
    return still_waiting_text(names, whom);
  };
  out.evictions = sql::filled_in("select evictions from {schema}.{table_meta}", names);
  return out;
}

}  // namespace

result<std::string> schema_for(const store_url& url) {
  const auto names = read_names(url);
  if (!names) return names.error();
  return schema_text(*names);
}

result<std::unique_ptr<backend>> open_mysql(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  if (settings->sessions) return open_session_locks(environment, *settings);
  auto by = std::make_shared<mysql_dial>(*settings, sql::write_origin(core::own_origin({})));
  auto to = std::make_shared<sql::way>(environment, sql::place{.shown = settings->shown, .timeout = settings->timeout},
                                       by, sql::listener{});
  if (auto opened = to->open(); !opened) {
    to->close();
    return opened.error();
  }
  auto traits = traits_of_mysql(by->facts());
  if (traits.guarantee == guarantee::strict) by->insist_on_strict();
  return std::unique_ptr<backend>(std::make_unique<sql::table_store>(
      std::move(to), words_for(settings->names, by, environment.loop), std::move(traits), environment));
}

}  // namespace interlock::inline v1::mysql_store
