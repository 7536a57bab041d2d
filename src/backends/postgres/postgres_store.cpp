// SPDX-License-Identifier: MIT
#include "backends/postgres/postgres_store.hpp"

#include "backends/postgres/advisory_words.hpp"
#include "backends/postgres/dial.hpp"
#include "backends/postgres/examination.hpp"
#include "backends/postgres/news.hpp"
#include "backends/postgres/wire.hpp"
#include "backends/sql/session_store.hpp"
#include "backends/sql/survey.hpp"
#include "backends/sql/table_store.hpp"
#include "core/origin.hpp"
#include "core/random.hpp"

#include <utility>

namespace interlock::inline v1::postgres_store {
namespace {

store_traits traits_of_postgres(const server_facts& found, bool listens) {
  store_traits out;
  out.caveat = weak_points(found);
  out.guarantee = out.caveat.empty() ? guarantee::strict : guarantee::best_effort;
  out.convert = out.fifo = out.permits = out.shared = out.survey = out.tokens = true;
  out.push = listens;
  out.store = "postgres";
  out.layout = "table";
  out.lease_min = milliseconds{10};
  out.lease_max = std::chrono::hours{24 * 30};
  return out;
}

sql::place place_of(const postgres_settings& settings) {
  return {.shown = "postgres " + settings.shown, .timeout = settings.timeout};
}

result<std::unique_ptr<backend>> open_session_locks(const backend_environment& environment,
                                                    const postgres_settings& settings) {
  auto by = std::make_shared<postgres_dial>(settings, std::string{}, std::string{});
  store_traits traits;
  traits.shared = true;
  traits.store = "postgres";
  traits.lease_max = std::chrono::hours{24 * 20};  // idle_session_timeout is an integer of milliseconds
  auto words = std::make_unique<advisory_words>(settings, by);
  return sql::open_sessions(environment, place_of(settings), by, std::move(words), std::move(traits));
}

}  // namespace

std::shared_ptr<sql::errand> survey_errand(const survey_query& what, completion<survey_page> done) {
  const auto range = sql::range_of(what);
  return std::make_shared<sql::errand>(
      survey_statement, std::vector<std::string>{range.from, range.before, big_endian(range.most + 1)},
      [most = range.most, done = std::move(done)](const result<const sql::rows*>& got) mutable {
        if (!got) return done(got.error());
        done(sql::read_page(**got, most));
      });
}

result<std::string> schema_for(const store_url& url) {
  const auto names = read_names(url);
  if (!names) return names.error();
  return schema_text(*names);
}

result<std::unique_ptr<backend>> open_postgres(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  if (settings->sessions) return open_session_locks(environment, *settings);
  const bool listens = settings->listens;
  const auto names = settings->names;
  // Known to the server alone: whoever could guess it could wake us for nothing.
  const auto channel = listens ? "interlock_" + to_string(public_id(core::kernel_random().secret())) : std::string{};
  auto by = std::make_shared<postgres_dial>(*settings, channel, sql::write_origin(core::own_origin({})));
  auto to = std::make_shared<sql::way>(
      environment, place_of(*settings), by,
      sql::listener{.notified = [&events = environment.events](std::string_view text) { deliver(text, events); }});
  if (auto opened = to->open(); !opened) {
    to->close();
    return opened.error();
  }
  auto traits = traits_of_postgres(by->facts(), listens);
  if (traits.guarantee == guarantee::strict) by->insist_on_strict();
  sql::table_statements words{.survey = survey_errand, .tidy = tidy_statement};
  words.examine = [names, by](completion<std::vector<store_check>> done) {
    return examination_errand(names, by->facts(), std::move(done));
  };
  return std::unique_ptr<backend>(
      std::make_unique<sql::table_store>(std::move(to), std::move(words), std::move(traits), environment));
}

}  // namespace interlock::inline v1::postgres_store
