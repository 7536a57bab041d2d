// SPDX-License-Identifier: MIT
// How a file becomes a store, and a store of an earlier boot one of this boot.
#include "backends/sqlite/boot.hpp"
#include "backends/sqlite/ledger.hpp"
#include "backends/sqlite/micros.hpp"
#include "backends/sqlite/pause.hpp"
#include "backends/sqlite/schema.sql.hpp"

#include <string>

namespace interlock::inline v1::sqlite_store {

ledger::ledger(std::unique_ptr<connection> db, store_file file, settings with)
    : db_(std::move(db)),
      file_(std::move(file)),
      wish_(with.wish),
      time_(*with.time),
      channel_(with.channel),
      origin_(std::move(with.origin)) {
  // Instead of SQLite's own: that one folds the log on the thread of whoever happened to commit.
  sqlite3_wal_hook(
      db_->raw(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<ledger*>(self)->note_log(pages);
        return SQLITE_OK;
      },
      this);
}

int ledger::synchronous(durability level) noexcept {
  return db_->run(level == durability::full ? "pragma synchronous = full" : "pragma synchronous = normal");
}

result<std::unique_ptr<ledger>> ledger::open(store_file file, settings with) {
  auto db = connection::open(file.path);
  if (!db) return db.error();
  if (sqlite3_db_readonly((*db)->raw(), "main") == 1) return (*db)->explain(SQLITE_READONLY, "write the file");
  const auto patience = with.patience;
  auto made = std::make_unique<ledger>(std::move(*db), std::move(file), std::move(with));
  auto boot = boot_identity();
  if (!boot) return boot.error();
  made->boot_ = std::move(*boot);
  if (auto good = made->prepare(patience); !good) return good.error();
  if (!still_there(made->file_))
    return failure(errc::unavailable, "sqlite store " + made->file_.path + ": was replaced while it was opened");
  return made;
}

result<void> ledger::prepare(milliseconds patience) {
  const auto until = time_.now() + patience;
  pause wait;
  for (;;) {
    auto got = prepare_once();
    if (!got) return rollback(), got.error();
    if (*got == step::ready) return {};
    rollback();
    if (*got != step::busy) continue;
    if (time_.now() >= until) return db_->explain(SQLITE_BUSY, "prepare the file");
    wait.once();
  }
}

result<ledger::step> ledger::stopped(int code, std::string_view doing) {
  if (is_busy(code)) return step::busy;
  return db_->explain(code, doing);
}

result<ledger::step> ledger::prepare_once() {
  if (const int code = synchronous(wish_); code != SQLITE_OK) return stopped(code, "set up the connection");
  auto found = read_meta();
  if (!found) return found;
  switch (*found) {
    case step::ready: return use_log();
    case step::other_boot: return enter_boot();
    case step::empty: return make_tables();
    case step::busy:
    case step::changed: break;
  }
  return found;
}

// The one query that the usual opening needs.
result<ledger::step> ledger::read_meta() {
  if (const int code = sql_.meta.ready(db_->raw()); code != SQLITE_OK)
    return code == SQLITE_ERROR ? look_inside() : stopped(code, "read the file");
  const int code = sql_.meta.step();
  if (code == SQLITE_ROW) {
    const auto schema = sql_.meta.integer(0);
    const bool ours = sql_.meta.bytes(1) == boot_;
    generation_ = sql_.meta.integer(2);
    floor_ = sql_.meta.integer(3);
    next_sweep_ = from_micros(sql_.meta.integer(4)) + sweep_every;
    sql_.meta.reset();
    if (schema != schema_version)
      return failure(errc::unsupported, "sqlite store " + file_.path + ": has layout " + std::to_string(schema) +
                                            ", this interlock knows layout " + std::to_string(schema_version) +
                                            "; update it, or name another file");
    return ours ? step::ready : step::other_boot;
  }
  sql_.meta.reset();
  return stopped(code == SQLITE_DONE ? SQLITE_CORRUPT : code, "read the file");
}

// No meta table: either nobody has used the file, or somebody else does, or another process has just made it.
result<ledger::step> ledger::look_inside() {
  statement tables{"select count(*), (select count(*) from pragma_table_info('meta')"
                   " where name in ('schema', 'boot', 'generation', 'token_floor', 'swept')) from sqlite_schema"};
  if (const int code = tables.ready(db_->raw()); code != SQLITE_OK) return stopped(code, "read the file");
  const int code = tables.step();
  if (code != SQLITE_ROW) return stopped(code, "read the file");
  if (tables.integer(0) == 0) return step::empty;
  if (tables.integer(1) == 5) return step::busy;
  return failure(errc::unsupported,
                 "sqlite store " + file_.path + ": is a database of another program; name a file of its own for locks");
}

result<ledger::step> ledger::use_log() {
  statement mode{"pragma journal_mode = wal"};
  if (const int code = mode.ready(db_->raw()); code != SQLITE_OK) return stopped(code, "use a write-ahead log");
  const int code = mode.step();
  if (code != SQLITE_ROW) return stopped(code, "use a write-ahead log");
  if (mode.bytes(0) == "wal") return step::ready;
  return failure(errc::unsupported, "sqlite store " + file_.path +
                                        ": SQLite refuses a write-ahead log here and stays in mode " +
                                        std::string(mode.bytes(0)));
}

result<ledger::step> ledger::make_tables() {
  // Small pages: a commit writes whole ones, and copies and checksums them.
  if (const int code = db_->run("pragma page_size = 1024"); code != SQLITE_OK) return stopped(code, "set up the file");
  if (auto log = use_log(); !log || *log != step::ready) return log;
  synchronous(durability::full);
  if (const int code = db_->run("begin immediate"); code != SQLITE_OK) return stopped(code, "set up the file");
  if (auto still = look_inside(); !still || *still != step::empty) {
    if (!still) return still;
    return step::changed;
  }

  const std::string schema(embedded::sqlite_schema_sql);
  if (const int code = db_->run(schema.c_str()); code != SQLITE_OK) return stopped(code, "set up the file");
  statement fill{"insert into meta values(1, ?1, ?2, 1, 0, ?3)"};
  if (const int code = fill.ready(db_->raw()); code != SQLITE_OK) return stopped(code, "set up the file");
  fill.integer(1, schema_version);
  fill.text(2, boot_);
  fill.integer(3, micros_down(time_.now()));
  if (const int code = fill.run(); code != SQLITE_OK) return stopped(code, "set up the file");
  if (const int code = db_->run("pragma application_id = 0x696c6b31; commit"); code != SQLITE_OK)
    return stopped(code, "set up the file");
  return step::changed;
}

// Nobody can say how long a claim of an earlier boot still had to live, so each gets one more lease on this clock.
// Committed to the disk before anyone is granted a token of the new generation.
result<ledger::step> ledger::enter_boot() {
  if (auto log = use_log(); !log || *log != step::ready) return log;
  if (const int code = synchronous(durability::full); code != SQLITE_OK) return stopped(code, "set up the connection");
  if (const int code = db_->run("begin immediate"); code != SQLITE_OK) return stopped(code, "start a new boot's times");
  if (auto still = read_meta(); !still || *still != step::other_boot) {
    if (!still) return still;
    return step::changed;
  }

  statement claims{"update book set ends = ?1 + lease * 1000, since = ?1 where seq > 0"};
  statement headers{"update book set since = ?1 where seq = 0"};
  statement meta{"update meta set boot = ?2, generation = generation + 1, swept = ?1"};
  for (auto* one : {&claims, &headers, &meta}) {
    if (const int code = one->ready(db_->raw()); code != SQLITE_OK) return stopped(code, "start a new boot's times");
    one->integer(1, micros_up(time_.now()));
    if (one == &meta) one->text(2, boot_);
    if (const int code = one->run(); code != SQLITE_OK) return stopped(code, "start a new boot's times");
  }
  if (const int code = db_->run("commit"); code != SQLITE_OK) return stopped(code, "start a new boot's times");
  return step::changed;
}

bool ledger::check_identity() {
  if (!still_there(file_)) {
    refused_ = failure(errc::unavailable, "sqlite store " + file_.path +
                                              ": was removed or replaced; locks in the old file exclude nobody");
    broken_ = refused_;
    return false;
  }
  if (!ready(sql_.meta)) return false;
  const int code = sql_.meta.step();
  const bool ours = code == SQLITE_ROW && sql_.meta.bytes(1) == boot_;
  sql_.meta.reset();
  if (!check(code == SQLITE_DONE ? SQLITE_CORRUPT : code, "read the meta record")) return false;
  if (ours) return true;
  refused_ = failure(errc::unsupported, "sqlite store " + file_.path +
                                            ": is shared between kernels, whose clocks do not compare; use a server");
  broken_ = refused_;
  return false;
}

}  // namespace interlock::inline v1::sqlite_store
