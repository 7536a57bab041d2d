// SPDX-License-Identifier: MIT
// Reading without changing, and forgetting what nobody needs.
#include "backends/sqlite/ledger.hpp"
#include "backends/sqlite/micros.hpp"
#include "backends/sqlite/rows.hpp"

namespace interlock::inline v1::sqlite_store {

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
    if (rows.integer(0) != 0) {
      if (read_claim(rows, book)) book.claims().back().from = read_origin(rows.bytes(11));
      continue;  // what cannot be read cannot be shown
    }
    if (!close_book()) break;
    name = rows.bytes(10);
    read_header(rows, book);
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
  if (!broken_) forget_cells();
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
