// SPDX-License-Identifier: MIT
#include "backends/postgres/asker.hpp"

#include "backends/postgres/dial.hpp"
#include "backends/postgres/server_error.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace interlock::inline v1::postgres_store {
namespace {

constexpr unsigned most_tries = 5;  // of a transaction that stood in another's way

bool is_fatal(const PGresult* wrong) {
  const char* const text = PQresultErrorField(wrong, PG_DIAG_SEVERITY_NONLOCALIZED);
  const std::string_view severity = text == nullptr ? std::string_view{} : text;
  return severity == "FATAL" || severity == "PANIC";
}

sql::refusal refusal_of(const PGresult* wrong) {
  const auto state = sqlstate(wrong);
  return {.why = server_failure(wrong),
          .tries = is_worth_a_retry(state) ? most_tries : 1,
          .ends = ends_connection(state),
          .after_the_end = is_fatal(wrong)};
}

}  // namespace

bool asker::send(const sql::flight& what) {
  rows_.reset();
  wrong_.reset();
  if (const auto* const one = what.statement()) return send_statement(*one);
  std::vector<const sql::question*> asked;
  asked.reserve(what.order.size());
  for (const auto& at : what.order) asked.push_back(&what.at(at));
  parameters_.write(asked, channel_, origin_);
  return PQsendQueryPrepared(with_.get(), ask_statement, ask_parameters::count, parameters_.values(),
                             parameters_.lengths(), ask_parameters::formats(), 1) == 1;
}

bool asker::send_statement(const sql::errand& what) {
  if (!what.text.empty())
    return PQsendQueryParams(with_.get(), what.text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  constexpr auto most = sql::parameters::most;
  static constexpr std::array<int, most> formats{1, 1, 1};
  std::array<const char*, most> values{};
  std::array<int, most> lengths{};
  const auto count = what.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = what.parameters[i].data();
    lengths[i] = static_cast<int>(what.parameters[i].size());
  }
  return PQsendQueryPrepared(with_.get(), what.statement, static_cast<int>(count), values.data(), lengths.data(),
                             formats.data(), 1) == 1;
}

// libpq reads with one call of recv: where that waits, nobody has to find out first whether there is something to read.
// Encrypted connections are left alone: OpenSSL may want more than has arrived.
void asker::be_patient() noexcept {
  if (PQsslInUse(with_.get()) != 0) return;
  const timeval some{.tv_sec = 0, .tv_usec = 4'000}, moment{.tv_sec = 0, .tv_usec = 1'000};
  patient_ = ::setsockopt(socket(), SOL_SOCKET, SO_RCVTIMEO, &some, sizeof some) == 0 &&
             ::setsockopt(socket(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment) == 0 &&
             ::fcntl(socket(), F_SETFL, ::fcntl(socket(), F_GETFL) & ~O_NONBLOCK) == 0;
}

bool asker::can_read() const noexcept {
  char byte = 0;
  return ::recv(socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

sql::session::progress asker::receive(sql::flight* under_way, std::vector<std::string>& news, patience with) {
  const bool reads = !patient_ || with == patience::some || can_read();
  bool alive = !reads || PQconsumeInput(with_.get()) == 1;
  bool over = false;
  while (under_way != nullptr && !over && PQisBusy(with_.get()) == 0) {
    over = take(*under_way);
    if (PQstatus(with_.get()) == CONNECTION_BAD) alive = false;
    if (!alive) break;
  }
  for (pg_notice one(PQnotifies(with_.get())); one; one.reset(PQnotifies(with_.get()))) news.emplace_back(one->extra);
  if (over) return progress::over;  // an end that came with it is met again
  return alive && PQstatus(with_.get()) == CONNECTION_OK ? progress::waits : progress::broken;
}

// The next result; whether it was the last.
bool asker::take(sql::flight& under_way) {
  pg_rows one(PQgetResult(with_.get()));
  if (!one) {
    conclude(under_way);
    return true;
  }
  if (PQresultStatus(one.get()) == PGRES_TUPLES_OK)
    rows_ = std::move(one);
  else if (!wrong_)
    wrong_ = std::move(one);
  return false;
}

void asker::conclude(sql::flight& under_way) {
  if (wrong_) {
    under_way.wrong = refusal_of(wrong_.get());
  } else if (under_way.statement() != nullptr) {
    under_way.table = std::make_unique<result_rows>(std::move(rows_));
  } else {
    for (int row = 0; row < PQntuples(rows_.get()); ++row) under_way.replies.push_back(read_reply(rows_.get(), row));
  }
}

std::string asker::last_words() const { return tidy_text(PQerrorMessage(with_.get())); }

}  // namespace interlock::inline v1::postgres_store
