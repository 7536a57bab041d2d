// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/clocked_mariadb.hpp"

#include "backends/mysql/introduction.hpp"
#include "backends/mysql/statements.hpp"
#include "backends/sql/survey.hpp"

#include <poll.h>

#include <atomic>
#include <stdexcept>

namespace interlock::test_support {

using namespace mysql_store;

namespace {

const sql::object_names names{.schema = "clocked", .quote = '`'};
const std::atomic<bool> never{false};

std::string with_test_clock(const std::string& text) { return with_own_clock(text, "utc_timestamp(6)", "@test_clock"); }

}  // namespace

clocked_mariadb::clocked_mariadb(const mariadb_server& on, backend_events&) {
  mysql_settings settings;
  settings.user = "root";
  settings.socket = on.socket();
  auto made = begin(settings, false).value();
  talk to(made.get(), boot_clock::now() + std::chrono::seconds{20}, never);
  to.connect(settings, {}).value();
  to.say("set @test_clock = '2020-01-01 00:00:00.000000'").value();
  for (const auto& one : schema_statements(names)) to.say(with_test_clock(one)).value();
  auto ask = to.prepare(sql::filled_in(ask_text, names)).value();
  with_ = std::make_unique<asker>(std::move(made), std::move(ask), names, "7\nhost\nprogram\npurpose");
}

void clocked_mariadb::run(const std::shared_ptr<sql::errand>& what) {
  sql::flight one;
  one.parcels.push_back(sql::whole(what));
  for (std::size_t i = 0; i < what->questions.size(); ++i) one.order.push_back({0, i});
  std::vector<std::string> news;
  if (!with_->send(one)) throw std::runtime_error(with_->last_words());
  for (auto how = sql::session::progress::waits; how != sql::session::progress::over;
       how = with_->receive(&one, news)) {
    if (how == sql::session::progress::broken) throw std::runtime_error(with_->last_words());
    pollfd input{with_->socket(), POLLIN, 0};
    if (!with_->answered()) ::poll(&input, 1, 20'000);
  }
  if (one.wrong) throw std::runtime_error(one.wrong->why.message());
  if (one.statement() != nullptr) return what->read(one.table.get());
  for (std::size_t i = 0; i < one.replies.size(); ++i) what->replies.at(i) = one.replies[i];
}

void clocked_mariadb::say(const std::string& text) {
  const auto one = std::make_shared<sql::errand>(nullptr, std::vector<std::string>{}, [](const auto&) {});
  one->text = text;
  run(one);
}

void clocked_mariadb::set_clock(std::chrono::microseconds since_1970) {
  say("set @test_clock = timestampadd(microsecond, " + std::to_string(since_1970.count()) + ", '1970-01-01')");
}

std::vector<sql::reply> clocked_mariadb::ask(const std::vector<sql::question>& what) {
  const auto one = std::make_shared<sql::errand>(what, sql::errand::replies_handler{});
  run(one);
  std::vector<sql::reply> out;
  for (const auto& each : one->replies) out.push_back(each.value());
  return out;
}

void clocked_mariadb::survey(const survey_query& what, completion<survey_page> done) {
  const auto most = sql::range_of(what).most;
  const auto one =
      std::make_shared<sql::errand>(nullptr, std::vector<std::string>{},
                                    [&](const result<const sql::rows*>& got) { done(sql::read_page(**got, most)); });
  one->text = with_test_clock(survey_text(names, what));
  run(one);
}

}  // namespace interlock::test_support

#endif
