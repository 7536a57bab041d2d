// SPDX-License-Identifier: MIT
#include "backends/postgres/advisory_words.hpp"

#include "backends/postgres/examination.hpp"
#include "backends/postgres/wire.hpp"

namespace interlock::inline v1::postgres_store {
namespace {

// A key as the statements take it, and a letter for its kind.
constexpr std::size_t number_size = 8;
bool is_pair(const std::string& key) { return key.back() == 'p'; }
std::string_view number_of(const std::string& key) { return std::string_view(key).substr(0, number_size); }
std::uint64_t value_of(const std::string& key) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < number_size; ++i) out = out << 8 | static_cast<unsigned char>(key[i]);
  return out;
}

// 0 of session.sql is a lock that is held already.
int kind_of(const sql::session_words::wish& one) {
  if (one.key == nullptr) return 0;
  return (is_pair(*one.key) ? 3 : 1) + (one.shared ? 1 : 0);
}

lock_info read_lock(const std::string& name, const sql::rows& all) {
  lock_info out;
  out.name = name;
  for (std::size_t row = 0; row < all.size(); ++row) {
    claim_info who;
    who.purpose = "session " + std::string(all.field(row, 0)) + " of the server";
    who.mode = all.field(row, 1) == "ShareLock" ? lock_mode::shared : lock_mode::exclusive;
    who.host = all.field(row, 2);
    who.program = all.field(row, 3);
    who.lease_left = milliseconds::max();
    (all.field(row, 4) == "t" ? out.holders : out.waiters).push_back(std::move(who));
  }
  return out;
}

}  // namespace

result<std::string> advisory_words::key_of(std::string_view name) const {
  const auto key = advisory_key_of(name, rule_);
  if (!key) return key.error();
  return big_endian(static_cast<std::uint64_t>(key->value)) + (key->is_pair ? 'p' : 's');
}

sql::session_words::statement advisory_words::lock(const std::string& key, bool shared) const {
  const char* const name = is_pair(key) ? (shared ? "interlock_lock_pair_shared" : "interlock_lock_pair")
                                        : (shared ? "interlock_lock_shared" : "interlock_lock");
  return {name, {number_of(key)}};
}

sql::session_words::statement advisory_words::unlock(const std::string& key, bool shared) const {
  const char* const name = is_pair(key) ? (shared ? "interlock_unlock_pair_shared" : "interlock_unlock_pair")
                                        : (shared ? "interlock_unlock_shared" : "interlock_unlock");
  return {name, {number_of(key)}};
}

sql::session_words::statement advisory_words::lock_all(std::span<const wish> wishes) const {
  std::string kinds, keys;
  for (const auto& one : wishes) {
    const auto* const separator = kinds.empty() ? "{" : ",";
    kinds += separator + std::to_string(kind_of(one));
    keys += separator + std::to_string(one.key == nullptr ? 0 : static_cast<std::int64_t>(value_of(*one.key)));
  }
  return {"interlock_try", {kinds + "}", keys + "}"}};
}

// The server's keep-alives must not be faster than that: they too end a session.
sql::session_words::statement advisory_words::end_when_silent_for(milliseconds span) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(span).count();
  return {"interlock_patience", {std::to_string(span.count()), std::to_string(seconds)}};
}

result<bool> advisory_words::read(const sql::rows& all, std::size_t row) const {
  const bool yes = all.field(row, 0) == std::string_view("\1", 1);
  if (!pooled_) return yes;
  std::uint32_t process = 0;
  for (const char byte : all.field(row, 1)) process = process << 8 | static_cast<unsigned char>(byte);
  if (static_cast<int>(process) == dial_->pid()) return yes;
  return failure(errc::unsupported,
                 "another process of the server answers than before: there is a pooler in between that gives each "
                 "transaction another session");
}

std::shared_ptr<sql::errand> advisory_words::show(const std::string& name, const std::string& key,
                                                  completion<survey_page> done) const {
  auto out = std::make_shared<sql::errand>(nullptr, std::vector<std::string>{},
                                           [name, done = std::move(done)](const result<const sql::rows*>& got) mutable {
                                             if (!got) return done(got.error());
                                             survey_page page;
                                             if ((*got)->size() > 0) page.locks.push_back(read_lock(name, **got));
                                             done(std::move(page));
                                           });
  const auto half = [&](int shift) { return std::to_string(static_cast<std::uint32_t>(value_of(key) >> shift)); };
  out->text =
      "select l.pid, l.mode, coalesce(host(a.client_addr), ''), coalesce(a.application_name, ''), l.granted from "
      "pg_locks l left join pg_stat_activity a on a.pid = l.pid where l.locktype = 'advisory' and l.database = (select "
      "oid from pg_database where datname = current_database()) and l.classid = '" +
      half(32) + "'::oid and l.objid = '" + half(0) + "'::oid and l.objsubid = " + (is_pair(key) ? "2" : "1");
  return out;
}

std::shared_ptr<sql::errand> advisory_words::examine(completion<std::vector<store_check>> done) const {
  return session_examination_errand(dial_->facts(), std::move(done));
}

}  // namespace interlock::inline v1::postgres_store
