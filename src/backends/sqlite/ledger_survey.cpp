// SPDX-License-Identifier: MIT
// Reading without changing, and forgetting what nobody needs.
#include "backends/sqlite/ledger.hpp"
#include "backends/sqlite/micros.hpp"

#include <algorithm>
#include <cstring>

namespace interlock::inline v1::sqlite_store {

using core::book_claim;

namespace {

constexpr std::size_t name_max = 1024;

struct range {
  std::string from, to;  // [from, to)
};

// Names compare as bytes. Behind a name comes the same name with a zero byte; behind all names with a prefix comes the
// prefix with its last byte one higher.
range range_of(const survey_query& what) {
  range out{what.prefix, what.prefix};
  if (what.exact) {
    out.to += '\0';
  } else {
    while (!out.to.empty() && out.to.back() == '\xff') out.to.pop_back();
    if (out.to.empty())
      out.to.assign(name_max + 1, '\xff');
    else
      out.to.back() = static_cast<char>(out.to.back() + 1);
  }
  if (!what.after.empty() && what.after >= out.from) out.from = what.after + '\0';
  return out;
}

claim_secret secret_of(std::string_view bytes) noexcept {
  std::array<std::byte, 16> raw{};
  std::memcpy(raw.data(), bytes.data(), std::min(bytes.size(), raw.size()));
  return claim_secret(raw);
}

void read_claim(const statement& row, core::claim_book& into) {
  auto& one = into.claims().emplace_back();
  one.seq = static_cast<std::uint64_t>(row.integer(1));
  one.token = static_cast<std::uint64_t>(row.integer(2));
  one.since = from_micros(row.integer(3));
  one.secret = secret_of(row.bytes(6));
  one.is = static_cast<book_claim::state>(row.integer(7));
  one.mode = static_cast<lock_mode>(row.integer(8));
  one.weight = static_cast<std::uint32_t>(row.integer(9));
  one.tokens = static_cast<std::uint32_t>(row.integer(10));
  one.ends = from_micros(row.integer(11));
  one.evicted = row.integer(12) != 0;
  one.upgrading = row.integer(13) != 0;
  auto from = std::make_shared<core::claim_source>();
  from->origin.pid = row.integer(14);
  from->origin.host = row.bytes(15);
  from->origin.program = row.bytes(16);
  from->origin.purpose = row.bytes(17);
  one.from = std::move(from);
}

}  // namespace

result<survey_page> ledger::survey(const survey_query& what) {
  auto& rows = sql_.survey;
  if (const int code = rows.ready(db_->raw()); code != SQLITE_OK) return db_->explain(code, "list locks");
  const auto names = range_of(what);
  rows.blob(1, names.from);
  rows.blob(2, names.to);

  survey_page page;
  core::claim_book book;
  std::string name;
  const auto now = time_.now();
  const auto close_book = [&] {  // false: the page is full
    if (book.idle()) return true;
    auto info = book.describe(name, now);
    book.reset(lock_capacity, 0, 0);
    if (info.holders.empty() && info.waiters.empty()) return true;
    page.more = page.locks.size() == what.most;
    if (!page.more) page.locks.push_back(std::move(info));
    return !page.more;
  };
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    if (rows.integer(1) != 0) {
      read_claim(rows, book);
      continue;
    }
    if (!close_book()) break;
    name = rows.bytes(0);
    book.reset(static_cast<std::uint32_t>(rows.integer(4)), static_cast<std::uint64_t>(rows.integer(2)),
               static_cast<std::uint64_t>(rows.integer(5)));
  }
  if (code == SQLITE_DONE) close_book();
  rows.reset();
  if (code != SQLITE_DONE && code != SQLITE_ROW) return db_->explain(code, "list locks");
  return page;
}

result<std::vector<std::string>> ledger::names_of(statement& which, std::int64_t before) {
  if (const int code = which.ready(db_->raw()); code != SQLITE_OK) return db_->explain(code, "look for idle names");
  which.integer(1, before);
  std::vector<std::string> out;
  int code = which.step();
  for (; code == SQLITE_ROW; code = which.step()) out.emplace_back(which.bytes(0));
  which.reset();
  if (code != SQLITE_DONE) return db_->explain(code, "look for idle names");
  return out;
}

// Its token lives on in the floor, above which every new name starts.
bool ledger::forget(const std::string& name) {
  if (!load(name) || !has_header_ || !book_.idle()) return !broken_;
  if (!ready(sql_.remember_token)) return false;
  sql_.remember_token.blob(1, name);
  return check(sql_.remember_token.run(), "remember a token") && remove(name, 0);
}

result<bool> ledger::sweep() {
  // Read first, without keeping writers away; what was found is looked at again under the write lock.
  const auto now = time_.now();
  auto ended = names_of(sql_.ended_names, micros_down(now));
  if (!ended) return ended.error();
  auto idle = names_of(sql_.idle_names, micros_down(now - idle_time));
  if (!idle) return idle.error();

  auto begun = begin();
  if (!begun || !*begun) return begun;
  for (const auto& name : *ended)
    change(name, nullptr, [](core::claim_book& book, instant then, core::claim_book::news& out) {
      book.discard(0, then, out);  // nobody has number 0: this only drops what ran out, and grants what that frees
      return true;
    });
  for (const auto& name : *idle) forget(name);
  if (!broken_ && ready(sql_.set_swept)) {
    sql_.set_swept.integer(1, micros_down(now));
    check(sql_.set_swept.run(), "note the sweep");
  }
  next_sweep_ = now + sweep_every;
  auto done = commit();
  if (!done) return done.error();
  return *done == outcome::done;
}

}  // namespace interlock::inline v1::sqlite_store
