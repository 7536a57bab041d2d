// SPDX-License-Identifier: MIT
#include "backends/mysql/user_lock_words.hpp"

#include "backends/mysql/asker.hpp"
#include "backends/mysql/examination.hpp"
#include "backends/mysql/wire.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

namespace interlock::inline v1::mysql_store {
namespace {

// Keys are bytes, and the server wants them in its own alphabet.
std::string quoted_key(const std::string& key) { return "convert(" + literal(key) + " using utf8mb4)"; }

}  // namespace

sql::session_words::statement user_lock_words::lock(const std::string& key, bool) const {
  return {lock_statement, {key}};
}

sql::session_words::statement user_lock_words::unlock(const std::string& key, bool) const {
  return {unlock_statement, {key}};
}

sql::session_words::statement user_lock_words::lock_all(std::span<const wish> wishes) const {
  std::string text;
  for (const auto& one : wishes) {
    text += text.empty() ? "select " : " union all select ";
    if (one.key != nullptr) text += "(get_lock(" + quoted_key(*one.key) + ", 0) * 2 - 1) * ";
    text += "cast(connection_id() as signed)";
  }
  return {text_statement, {text}};
}

// In whole seconds, and so that its clock may be a little faster than ours.
sql::session_words::statement user_lock_words::end_when_silent_for(milliseconds span) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(span).count() + 1;
  return {text_statement, {"set session wait_timeout = " + std::to_string(seconds)}};
}

// The number of the session that answers, with a minus for no. In one column, as one more would be told of by name and
// type with every answer. A lock that is tried alone says 0 for no, which costs the server less: it does not matter who
// has not got it, and looks say it again.
result<bool> user_lock_words::read(const sql::rows& all, std::size_t row) const {
  if (row >= all.size()) return failure(errc::internal, "the server gave no answer");
  const auto said = all.field(row, 0);
  if (said.empty()) return failure(errc::unavailable, "the server could not say whether the lock is free");
  std::int64_t number = 0;
  std::from_chars(said.data(), said.data() + said.size(), number);
  const bool yes = number > 0;
  if (number == 0 || static_cast<std::uint64_t>(yes ? number : -number) == dial_->connection()) return yes;
  return failure(errc::unsupported,
                 "another connection of the server answers than before: there is a pooler in between that gives each "
                 "transaction another session");
}

std::shared_ptr<sql::errand> user_lock_words::show(const std::string& name, const std::string& key,
                                                   completion<survey_page> done) const {
  auto out = std::make_shared<sql::errand>(
      nullptr, std::vector<std::string>{}, [name, done = std::move(done)](const result<const sql::rows*>& got) mutable {
        if (!got) return done(got.error());
        survey_page page;
        if ((*got)->size() == 1 && !(*got)->field(0, 0).empty()) {
          auto& lock = page.locks.emplace_back();
          lock.name = name;
          auto& who = lock.holders.emplace_back();
          who.purpose = "connection " + std::string((*got)->field(0, 0)) + " of the server";
          who.host = (*got)->field(0, 1);
          who.lease_left = milliseconds::max();
        }
        done(std::move(page));
      });
  out->text = "select u.id, coalesce(p.host, '') from (select is_used_lock(" + quoted_key(key) +
              ") as id) u left join information_schema.processlist p on p.id = u.id";
  return out;
}

std::shared_ptr<sql::errand> user_lock_words::examine(completion<std::vector<store_check>> done) const {
  return session_examination_errand(dial_->facts(), std::move(done));
}

}  // namespace interlock::inline v1::mysql_store
