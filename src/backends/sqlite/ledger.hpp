// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/rows.hpp"
#include "backends/sqlite/statements.hpp"
#include "backends/sqlite/store_file.hpp"
#include "core/cell_record.hpp"
#include "core/claim_book.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::inline v1::sqlite_store {

enum class durability : std::uint8_t {
  normal,  ///< a power cut may take back the last moments, and generations keep tokens rising all the same
  full,    ///< every change is on the disk before it is answered
};

/// News for one claimant, with all it takes to see later whether the claimant has heard of it.
struct notice {
  core::book_news news{};
  std::int64_t channel = 0;
  std::string name{};
  bool fresh = false;     ///< a waiter that was granted, not a holder that was upgraded
  std::int64_t ends = 0;  ///< as granted
};

/// The books of all names, in one file. One thread at a time.
///
/// Changing: begin(), any number of change()s, commit(); then the notices go out. What fails in between rolls back, so
/// nothing is ever half granted. The rules are core::claim_book's; this only reads, writes back and keeps tokens rising
/// over restarts: see docs/design/0003-sqlite-store.md.
class ledger {
 public:
  struct settings {
    const time_source* time = nullptr;
    durability wish = durability::normal;
    milliseconds patience{5000};
    std::int64_t channel = 0;  ///< where our own claims are told news; 0: nowhere
    claim_origin origin{};     ///< of claims that bring none
  };
  /// Makes a fresh file a store, and a file of an earlier boot one of this boot. Waits up to `patience` for others that
  /// are doing the same.
  static result<std::unique_ptr<ledger>> open(store_file file, settings with);
  ledger(std::unique_ptr<connection> db, store_file file, settings with);

  /// false: somebody else is writing; ask again soon. Never waits.
  result<bool> begin();
  /// Lets `act` change a book: `act(book, now, news)`. `own` is the claim it is about, if there is one. No answer: the
  /// file did not let us, and commit() says why.
  template <class Act>
  auto change(std::string_view name, const claim* own, Act act)
      -> std::optional<decltype(act(std::declval<core::claim_book&>(), instant{},
                                    std::declval<core::claim_book::news&>()))> {
    if (!load(name)) return std::nullopt;
    const auto now = time_.now();  // after the wait for the write lock, else leases would start in the past
    auto answer = act(book_, now, news_);
    save(name, own, now);
    return answer;
  }
  /// Safe for all to see, or rolled back and why. begin() again and repeat the changes if it says `again`.
  enum class outcome : std::uint8_t { done, again };
  result<outcome> commit();
  /// Why the last change() answered nothing, if that lies with one unreadable name and the others can go on; else the
  /// transaction is over and commit() says why.
  std::optional<failure> pardon() noexcept;
  /// What commit() made true and the claimants should hear.
  std::vector<notice> take_notices() noexcept { return std::exchange(notices_, {}); }
  /// After a commit failed, or a change of mind. No effect outside a transaction.
  void rollback() noexcept;

  /// Where claims made from now on are told news; 0: nowhere.
  void tell_at(std::int64_t channel) noexcept { channel_ = channel; }

  /// Ends a claim that was granted to a dead process, unless somebody has heard of the grant in the meantime.
  void discard(const notice& told);

  /// From now on nothing is granted or renewed if another kernel uses the file, or another file is in its place.
  /// Inside a transaction.
  bool check_identity();

  /// Reads only. Nothing: somebody keeps the file shut just now.
  std::optional<result<cell>> read_cell(std::string_view name);
  /// In a transaction, which becomes a durable one.
  result<version> change_cell(const cell_write& what);

  /// Reads only, never waits for writers.
  result<survey_page> survey(const survey_query& what);

  /// Forgets names idle for a day and claims that ran out with nobody asking; at most a few hundred at a time. Call
  /// outside a transaction; false: others are writing.
  [[nodiscard]] bool sweep_is_due() const noexcept { return time_.now() >= next_sweep_; }
  result<bool> sweep();

  /// The write-ahead log has grown; folding it back into the file waits for the disk, so it is the worker's job.
  [[nodiscard]] bool fold_is_due() const noexcept { return log_pages_ >= fold_at_; }
  void fold_log() noexcept;

 private:
  struct row_extra {
    std::int64_t seq, channel, lease;
  };
  // How far preparing the file got; `busy` and `changed` are tried again.
  enum class step : std::uint8_t { ready, busy, changed, other_boot, empty };
  result<void> prepare(milliseconds patience);
  result<step> prepare_once();
  result<step> read_meta();
  result<step> look_inside();
  result<step> make_tables();
  result<step> enter_boot();
  result<step> use_log();
  result<step> stopped(int code, std::string_view doing);
  int synchronous(durability level) noexcept;
  bool load(std::string_view name);
  bool load_rows();
  void save(std::string_view name, const claim* own, instant now);
  void mark_heard(const claim& own);
  bool save_header(std::string_view name, instant now);
  bool insert(std::string_view name, const core::book_claim& one, const claim& own);
  bool update(std::string_view name, const core::book_claim& one, const claim* own);
  bool remove(std::string_view name, std::uint64_t seq);
  void note_news(std::string_view name, const claim* own, instant now);
  void note_log(int pages) noexcept;
  bool start_fresh();
  bool check(int code, std::string_view doing);
  bool ready(statement& one);
  result<std::vector<std::string>> names_of(statement& which, std::int64_t before);
  bool forget(const std::string& name);
  bool fetch_cell(statement& row, core::cell_record& into) const;
  bool load_cell(std::string_view name, core::cell_record& into);
  bool save_cell(std::string_view name, const core::cell_record& one, milliseconds keep);
  void forget_cells();
  [[nodiscard]] std::uint64_t generation_base() const noexcept { return std::uint64_t(generation_) << generation_bits; }

  static constexpr int generation_bits = 40;
  static constexpr int schema_version = 1;
  static constexpr int log_limit =
      1000;  // pages of 1 KB; longer, and finding the hot page in it costs more than folding
  static constexpr int log_limit_cold = 100;  // whoever opens the file first reads the whole log: keep that short
  static constexpr std::chrono::hours sweep_every{1}, idle_time{24};

  std::unique_ptr<connection> db_;
  statements sql_;
  store_file file_;
  durability wish_;
  const time_source& time_;
  std::int64_t channel_;
  origin_text origin_;

  std::string boot_;
  std::int64_t generation_ = 0;
  std::int64_t floor_ = 0;
  instant next_sweep_ = instant::max();
  int log_pages_ = -1;  // after the last commit; -1: none yet
  int fold_at_ = 0;

  core::claim_book book_;
  core::claim_book::news news_;
  std::vector<row_extra> extra_;
  std::uint32_t loaded_capacity_ = 0;
  std::uint64_t loaded_token_ = 0, loaded_seq_ = 0;
  bool has_header_ = false;

  std::vector<notice> notices_;
  std::optional<failure> broken_;   // ends this transaction
  std::optional<failure> refused_;  // ends them all
  bool unreadable_ = false;         // what broke is one name's rows
  bool outgrown_ = false;           // a token left its generation: this must be repeated with a durable commit
  bool durable_next_ = false;       // and this is that repetition
};

}  // namespace interlock::inline v1::sqlite_store
