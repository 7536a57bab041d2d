// SPDX-License-Identifier: MIT
// Cells: values with versions beside the books.
#include "backends/sqlite/cells.sql.hpp"
#include "backends/sqlite/ledger.hpp"
#include "backends/sqlite/micros.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace interlock::inline v1::sqlite_store {

using core::cell_record;

namespace {

constexpr std::size_t entry_size = 24;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

void read_log(std::string_view bytes, std::vector<cell_record::entry>& to) {
  for (; bytes.size() >= entry_size; bytes.remove_prefix(entry_size)) {
    std::array<std::byte, 16> mark{};
    std::memcpy(mark.data(), bytes.data(), mark.size());
    std::uint64_t made = 0;
    for (std::size_t i = entry_size; i-- > mark.size();) made = made << 8 | static_cast<unsigned char>(bytes[i]);
    to.push_back({claim_secret(mark), made});
  }
}

std::string log_of(const cell_record& one) {
  std::string out;
  out.reserve(one.log.size() * entry_size);
  for (const auto& entry : one.log) {
    out.append(reinterpret_cast<const char*>(entry.mark.bytes().data()), entry.mark.bytes().size());
    for (unsigned i = 0; i < 8; ++i) out += static_cast<char>(entry.made >> (8 * i) & 0xff);
  }
  return out;
}

}  // namespace

// A row of another boot is believed until the sweep has given it this boot's times.
bool ledger::fetch_cell(statement& row, cell_record& into) const {
  if (row.bytes(4) == boot_ && row.integer(5) < micros_down(time_.now())) return false;
  into.last = static_cast<std::uint64_t>(row.integer(0));
  into.there = row.integer(1) != 0;
  into.value = row.bytes(2);
  read_log(row.bytes(3), into.log);
  return true;
}

std::optional<result<cell>> ledger::read_cell(std::string_view name) {
  if (refused_) return result<cell>(*refused_);
  auto& row = sql_.cell;
  if (const int code = row.ready(db_->raw()); code != SQLITE_OK) {
    if (is_busy(code)) return std::nullopt;
    if (code == SQLITE_ERROR) return result<cell>(cell{});  // no such table: nobody has made a cell yet
    return result<cell>(db_->explain(code, "read a cell"));
  }
  row.blob(1, name);
  cell_record found;
  const int code = row.step();
  if (code == SQLITE_ROW) fetch_cell(row, found);
  row.reset();
  if (is_busy(code)) return std::nullopt;
  if (code != SQLITE_ROW && code != SQLITE_DONE) return result<cell>(db_->explain(code, "read a cell"));
  return result<cell>(found.shown());
}

bool ledger::load_cell(std::string_view name, cell_record& into) {
  auto& row = sql_.cell;
  if (!ready(row)) return false;
  row.blob(1, name);
  const int code = row.step();
  if (code == SQLITE_ROW) fetch_cell(row, into);
  row.reset();
  return check(code, "read a cell");
}

bool ledger::save_cell(std::string_view name, const cell_record& one, milliseconds keep) {
  auto& put = sql_.put_cell;
  if (!ready(put)) return false;
  const auto log = log_of(one);
  put.blob(1, name);
  put.integer(2, static_cast<std::int64_t>(one.last));
  put.integer(3, one.there ? 1 : 0);
  put.blob(4, one.value);
  put.blob(5, log);
  put.text(6, boot_);
  put.integer(7, keep > milliseconds{0} ? micros_up(time_.now() + keep) : never);
  put.integer(8, keep.count());
  return check(put.run(), "write a cell");
}

// What a cell says must not be taken back by a power cut: others have acted on it.
result<version> ledger::change_cell(const cell_write& what) {
  const failure stopped(errc::internal, "sqlite store: no answer");  // never seen: commit() has the real reason
  if (wish_ != durability::full && !durable_next_) return outgrown_ = true, stopped;
  if (!check_identity()) return stopped;
  if (const int code = sql_.cell.ready(db_->raw()); code == SQLITE_ERROR) {
    const std::string table(embedded::sqlite_cells_sql);
    if (!check(db_->run(table.c_str()), "make room for cells")) return stopped;
  }
  cell_record one, counter;
  if (!load_cell(what.name, one) || !load_cell({}, counter)) return stopped;
  const auto before = one.last;
  auto made = one.change(what, std::max(counter.last, generation_base()));
  if (one.last == before) return made;
  counter.last = one.last;
  if (!save_cell(what.name, one, what.value ? what.keep : cell_tomb_time) || !save_cell({}, counter, milliseconds{0}))
    return stopped;
  return made;
}

// Nobody can say how long a cell of an earlier boot still had, so each gets its time once more.
void ledger::forget_cells() {
  if (sql_.adopt_cells.ready(db_->raw()) != SQLITE_OK) return;  // there are none
  if (!ready(sql_.forget_cells)) return;
  const auto now = time_.now();
  sql_.adopt_cells.text(1, boot_);
  sql_.adopt_cells.integer(2, micros_up(now));
  sql_.forget_cells.text(1, boot_);
  sql_.forget_cells.integer(2, micros_down(now));
  if (check(sql_.adopt_cells.run(), "start a new boot's times")) check(sql_.forget_cells.run(), "forget old cells");
}

}  // namespace interlock::inline v1::sqlite_store
