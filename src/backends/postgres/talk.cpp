// SPDX-License-Identifier: MIT
#include "backends/postgres/talk.hpp"

#include "backends/postgres/server_error.hpp"

#include <poll.h>

#include <algorithm>

namespace interlock::inline v1::postgres_store {
namespace {

constexpr milliseconds slice{50};  // how soon a cancelled one notices

}  // namespace

failure talk::lost() {
  state_.clear();
  const auto text = tidy_text(PQerrorMessage(with_));
  const bool denied = text.find("authentication failed") != text.npos || text.find("no password supplied") != text.npos;
  return failure(denied ? errc::denied : errc::unavailable, text.empty() ? "the connection was closed" : text);
}

result<void> talk::await(bool writing) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until_ - boot_clock::now());
    if (cancelled_.load()) return failure(errc::closed);
    if (left <= milliseconds{0}) return failure(errc::unavailable, "no connection in time");
    pollfd one{PQsocket(with_), static_cast<short>(writing ? POLLOUT : POLLIN), 0};
    if (::poll(&one, 1, static_cast<int>(std::min(left, slice).count())) > 0) return {};
  }
}

result<void> talk::connect() {
  if (PQstatus(with_) == CONNECTION_BAD) return lost();
  for (auto next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK; next = PQconnectPoll(with_)) {
    if (next == PGRES_POLLING_FAILED) return lost();
    if (auto ready = await(next == PGRES_POLLING_WRITING); !ready) return ready;
  }
  if (PQsetnonblocking(with_, 1) != 0) return lost();
  return {};
}

result<pg_rows> talk::finish(bool sent) {
  if (!sent) return lost();
  for (int rest = PQflush(with_); rest != 0; rest = PQflush(with_)) {
    if (rest < 0) return lost();
    if (auto ready = await(true); !ready) return ready.error();
  }
  pg_rows last;
  for (;;) {
    while (PQisBusy(with_) != 0) {
      if (auto ready = await(false); !ready) return ready.error();
      if (PQconsumeInput(with_) == 0) return lost();
    }
    pg_rows one(PQgetResult(with_));
    if (!one) break;
    const auto status = PQresultStatus(last.get());
    if (!last || status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) last = std::move(one);
  }
  state_.clear();
  const auto status = PQresultStatus(last.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return last;
  if (!last || PQstatus(with_) == CONNECTION_BAD) return lost();
  state_ = sqlstate(last.get());
  return server_failure(last.get());
}

result<pg_rows> talk::say(const std::string& text) { return finish(PQsendQuery(with_, text.c_str()) == 1); }

result<pg_rows> talk::ask(const std::string& text, const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  for (const auto& one : parameters) values.push_back(one.c_str());
  return finish(PQsendQueryParams(with_, text.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                                  nullptr, 0) == 1);
}

result<void> talk::prepare(const char* name, const std::string& text, const std::vector<Oid>& types) {
  auto done = finish(PQsendPrepare(with_, name, text.c_str(), static_cast<int>(types.size()), types.data()) == 1);
  if (!done) return done.error();
  return {};
}

}  // namespace interlock::inline v1::postgres_store
