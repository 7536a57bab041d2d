// SPDX-License-Identifier: MIT
#include "backends/sqlite/ledger.hpp"

#include "backends/sqlite/micros.hpp"
#include "backends/sqlite/rows.hpp"

#include <algorithm>

namespace interlock::inline v1::sqlite_store {

using core::book_claim;

bool ledger::check(int code, std::string_view doing) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return true;
  if (!broken_) broken_ = db_->explain(code, doing);
  return false;
}

bool ledger::ready(statement& one) { return check(one.ready(db_->raw()), "compile a statement"); }

result<bool> ledger::begin() {
  if (refused_) return *refused_;
  broken_.reset();
  unreadable_ = false;
  notices_.clear();
  outgrown_ = false;
  if (durable_next_) synchronous(durability::full);
  if (!ready(sql_.begin)) return *broken_;
  const int code = sql_.begin.run();
  if (is_busy(code)) return false;
  if (!check(code, "begin a change")) return *broken_;
  return true;
}

void ledger::rollback() noexcept {
  notices_.clear();
  if (!db_->in_transaction()) return;
  // Should even this fail, SQLite has rolled back by itself, and begin() finds out if it has not.
  db_->run("rollback");
}

result<ledger::outcome> ledger::commit() {
  if (broken_ || outgrown_) {
    rollback();
    if (broken_) return *broken_;
    durable_next_ = true;
    return outcome::again;
  }
  if (!ready(sql_.commit)) return rollback(), *broken_;
  const int code = sql_.commit.run();
  if (durable_next_) {
    durable_next_ = false;
    synchronous(wish_);
  }
  if (code == SQLITE_OK) return outcome::done;
  auto why = db_->explain(code, "commit");
  rollback();
  // The record may have reached the log although the disk complained; recovery would then find it.
  if ((code & 0xff) == SQLITE_IOERR) return failure(errc::indeterminate, why.message());
  return why;
}

// A name without a header goes on above every token that a forgotten name may have had. Asked for each time: another
// process may have forgotten the very name since we last looked.
bool ledger::start_fresh() {
  if (!ready(sql_.meta)) return false;
  const int code = sql_.meta.step();
  if (code == SQLITE_ROW) {
    generation_ = std::max(generation_, sql_.meta.integer(2));
    floor_ = sql_.meta.integer(3);
  }
  sql_.meta.reset();
  if (code == SQLITE_DONE) return check(SQLITE_CORRUPT, "find the meta record");
  book_.reset(lock_capacity, static_cast<std::uint64_t>(floor_), 0);
  return check(code, "read the meta record");
}

bool ledger::load_rows() {
  auto& rows = sql_.book;
  int code = rows.step();
  if (code == SQLITE_ROW && rows.integer(0) == 0) {
    has_header_ = true;
    read_header(rows, book_);
    code = rows.step();
  }
  for (; code == SQLITE_ROW; code = rows.step()) {
    if (!has_header_ || !read_claim(rows, book_)) return check(SQLITE_CORRUPT, "make sense of a claim");
    extra_.push_back({rows.integer(0), rows.integer(8), rows.integer(7)});
    book_.raise_seq(static_cast<std::uint64_t>(rows.integer(0)));
  }
  return check(code, "read a name's claims");
}

bool ledger::load(std::string_view name) {
  if (broken_ || outgrown_ || !ready(sql_.book)) return false;
  extra_.clear();
  news_.clear();
  has_header_ = false;
  book_.reset(lock_capacity, 0, 0);
  sql_.book.blob(1, name);
  bool good = load_rows();
  sql_.book.reset();
  unreadable_ = !good;
  if (good && !has_header_) good = start_fresh();
  book_.raise_token(generation_base());
  loaded_capacity_ = book_.capacity();
  loaded_token_ = book_.token();
  loaded_seq_ = book_.last_seq();
  return good;
}

std::optional<failure> ledger::pardon() noexcept {
  if (!broken_ || !unreadable_ || !db_->in_transaction()) return std::nullopt;
  unreadable_ = false;
  return std::exchange(broken_, std::nullopt);
}

// A holder that asks hears that it holds, and every hearing must move the end: discard() relies on it.
void ledger::mark_heard(const claim& own) {
  for (auto& one : book_.claims()) {
    if (one.secret != own.secret || one.is != book_claim::state::held || one.evicted ||
        one.unsaved != book_claim::change::none)
      continue;
    one.ends += std::chrono::microseconds(1);
    one.unsaved = book_claim::change::altered;
  }
}

void ledger::save(std::string_view name, const claim* own, instant now) {
  note_news(name, own, now);
  if (own != nullptr) mark_heard(*own);
  bool good = save_header(name, now);
  for (const auto seq : book_.removed()) good = good && remove(name, seq);
  for (const auto& one : book_.claims()) {
    if (!good) break;
    if (one.unsaved == book_claim::change::added) good = own != nullptr && insert(name, one, *own);
    if (one.unsaved == book_claim::change::altered) good = update(name, one, own);
  }
}

bool ledger::save_header(std::string_view name, instant now) {
  // While there are claims, their own numbers say where to go on: somebody who only queues need not write the header.
  const bool order_is_kept = book_.last_seq() == loaded_seq_ || (has_header_ && !book_.claims().empty());
  if (book_.token() == loaded_token_ && order_is_kept && book_.capacity() == loaded_capacity_) return true;
  const auto generation = static_cast<std::int64_t>(book_.token() >> generation_bits);
  if (generation > generation_) {
    // Were this generation not on the disk before its tokens are seen, a power cut could make the next boot use them
    // again.
    if (!durable_next_) return outgrown_ = true, false;
    if (!ready(sql_.set_generation)) return false;
    sql_.set_generation.integer(1, generation);
    if (!check(sql_.set_generation.run(), "open a generation of tokens")) return false;
    generation_ = generation;
  }
  auto& put = has_header_ ? sql_.alter_header : sql_.add_header;
  if (!ready(put)) return false;
  put.blob(1, name);
  put.integer(2, static_cast<std::int64_t>(book_.token()));
  put.integer(3, micros_down(now));
  put.integer(4, book_.capacity());
  put.integer(5, static_cast<std::int64_t>(book_.last_seq()));
  return check(put.run(), "write a name's header");
}

namespace {
std::int64_t lease_of(const book_claim& one, const claim& own) noexcept {
  if (one.is == book_claim::state::tomb) return std::max(own.lease, core::tomb_time).count();
  return own.lease.count();
}
}  // namespace

bool ledger::insert(std::string_view name, const book_claim& one, const claim& own) {
  auto& add = sql_.add_claim;
  if (!ready(add)) return false;
  bind_claim(add, name, one, lease_of(one, own));
  add.integer(10, one.is == book_claim::state::tomb ? 0 : channel_);
  add.blob(11, one.secret.bytes());
  add.text(12, origin_.line_of(own.origin));
  return check(add.run(), "write a claim");
}

bool ledger::update(std::string_view name, const book_claim& one, const claim* own) {
  auto& alter = sql_.alter_claim;
  if (!ready(alter)) return false;
  const auto seq = static_cast<std::int64_t>(one.seq);
  const auto was = std::find_if(extra_.begin(), extra_.end(), [&](const row_extra& row) { return row.seq == seq; });
  const bool mine = own != nullptr && own->secret == one.secret;
  bind_claim(alter, name, one, mine ? own->lease.count() : was == extra_.end() ? 0 : was->lease);
  return check(alter.run(), "rewrite a claim");
}

bool ledger::remove(std::string_view name, std::uint64_t seq) {
  auto& gone = sql_.remove_claim;
  if (!ready(gone)) return false;
  gone.blob(1, name);
  gone.integer(2, static_cast<std::int64_t>(seq));
  return check(gone.run(), "remove a claim");
}

// The asker's own news is in its answer.
void ledger::note_news(std::string_view name, const claim* own, instant now) {
  for (auto& one : news_) {
    if (own != nullptr && own->secret == one.whom) continue;
    const auto seq = static_cast<std::int64_t>(one.seq);
    const auto was = std::find_if(extra_.begin(), extra_.end(), [&](const row_extra& row) { return row.seq == seq; });
    if (was == extra_.end() || was->channel == 0) continue;  // it polls
    auto& out = notices_.emplace_back();
    out.channel = was->channel;
    out.name = name;
    for (const auto& claim : book_.claims()) {
      if (claim.seq != one.seq) continue;
      out.fresh = claim.since == now;
      out.ends = micros_up(claim.ends);
    }
    out.news = std::move(one);
  }
}

void ledger::discard(const notice& told) {
  if (!told.fresh) return;  // it held before, and its lease protects what it may have started
  change(told.name, nullptr, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
    for (const auto& one : book.claims()) {
      // Whoever has heard of a grant has heard it from an enter or a look, and those move the end.
      const bool unheard =
          one.is == book_claim::state::held && one.token == told.news.as.token && micros_up(one.ends) == told.ends;
      if (one.seq != told.news.seq || !unheard) continue;
      book.discard(one.seq, now, out);
      break;
    }
    return true;
  });
}

void ledger::note_log(int pages) noexcept {
  if (log_pages_ < 0) fold_at_ = pages >= log_limit_cold ? pages : log_limit;
  if (pages < log_pages_) fold_at_ = log_limit;  // it has started over
  log_pages_ = pages;
}

void ledger::fold_log() noexcept {
  // Others that keep reading can keep the log from starting over; when it has grown far, writers wait once. What
  // fails here is tried again some thousand commits later.
  const int how = log_pages_ > 8 * log_limit ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  sqlite3_wal_checkpoint_v2(db_->raw(), nullptr, how, nullptr, nullptr);
  fold_at_ = log_pages_ + log_limit;
}

}  // namespace interlock::inline v1::sqlite_store
