// SPDX-License-Identifier: MIT
#pragma once

#include "core/latch_rules.hpp"
#include "core/random.hpp"

#include <interlock/cells.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace interlock::inline v1::runtime {

/// What somebody wants of a cell: the rule is asked what to do each time the cell was read.
struct cell_wish {
  std::string name{};  ///< as the store knows it
  core::cell_rule rule{};
  milliseconds keep{0};
  instant until = instant::max();  ///< after that, waiting ends with `busy`
};

/// One wish, from its first question to its outcome. Guarded by the desk's mutex.
struct cell_job {
  enum class phase : std::uint8_t { reading, writing, pausing /* before reading again */, waiting, over };
  cell_wish wish{};
  unique_function<void(result<std::uint32_t>)> done{};
  claim_secret mark{};
  phase at = phase::reading;
  std::uint64_t needs = 0;   ///< the first read that is recent enough
  version expected{};        ///< writing
  std::string value{};       ///< writing
  std::uint32_t answer = 0;  ///< writing: the outcome, if it succeeds
  std::uint64_t writes = 0;  ///< asked for so far; answers to earlier ones may still come
  bool under_way = false;    ///< writing: no answer to the last one yet
  bool in_doubt = false;     ///< a write was asked for, and nobody knows what became of it
  bool told = false;         ///< the store's last word was to wait
  unsigned conflicts = 0;
  instant begun{};
  instant silent_since = instant::max();  ///< writing: no word from the store since
  instant due = instant::max();           ///< writing, pausing: when to ask again
  std::optional<failure> trouble{};       ///< why the last write was not answered
  /// Something may have been written, or not.
  [[nodiscard]] bool unresolved() const noexcept { return in_doubt || under_way; }
};

/// Carries out wishes about cells: reads, writes if nobody was faster, waits for changes. One read serves all of this
/// client that wait for the same cell; between hints they are looked at now and then.
///
/// Any thread may turn it. Its mutex is never held while the store or user code is called.
class cell_desk : public std::enable_shared_from_this<cell_desk> {
 public:
  using job_pointer = std::shared_ptr<cell_job>;
  cell_desk(reactor& loop, const time_source& time, milliseconds patience) noexcept
      : loop_(loop), time_(time), patience_(patience) {}
  cell_desk(const cell_desk&) = delete;
  cell_desk& operator=(const cell_desk&) = delete;

  /// Before anything is begun. nullptr: the store has no cells.
  void attach(cell_store* store) noexcept { store_ = store; }
  [[nodiscard]] cell_store* store() const noexcept { return store_; }
  /// `done` is called once, from any thread, perhaps before this returns.
  job_pointer begin(cell_wish what, unique_function<void(result<std::uint32_t>)> done);
  void cancel(const job_pointer& one, const failure& why) noexcept;
  [[nodiscard]] bool idle() const noexcept { return jobs_.load(std::memory_order_relaxed) == 0; }
  /// The way to the store is up again: hints may have been missed.
  void link_up() noexcept;
  /// Ends everything; nothing is begun any more.
  void close() noexcept;

 private:
  /// One cell that somebody has a wish about.
  struct place {
    std::string name{};
    std::vector<job_pointer> jobs{};
    subscription watch{};
    bool watched = false;
    bool looking = false, again = false;
    std::uint64_t reads = 0;  // asked for so far
    instant silent_since = instant::max();
    instant next = instant::max();  // looking: when it is overdue; else when to look again
    std::optional<failure> trouble{};
  };
  using place_pointer = std::shared_ptr<place>;
  using errands = std::vector<unique_function<void()>>;  // what is done when the mutex is free

  template <class F>
  void turn(F change) noexcept;
  void tick();
  void schedule(errands& out);
  [[nodiscard]] bool check(place& here, const job_pointer& one, instant now, errands& out);
  void look(const place_pointer& here, errands& out);
  void looked(const place_pointer& here, std::uint64_t number, const result<cell>& got, errands& out);
  void listen(const place_pointer& here, errands& out);
  void judge(const job_pointer& one, const cell& found, errands& out);
  void write(const job_pointer& one, errands& out);
  void written(const job_pointer& one, std::uint64_t number, std::uint32_t answer, const result<version>& got,
               errands& out);
  void finish(const job_pointer& one, result<std::uint32_t> outcome, errands& out);
  [[nodiscard]] milliseconds spread(milliseconds most) noexcept;

  reactor& loop_;
  const time_source& time_;
  const milliseconds patience_;
  cell_store* store_ = nullptr;
  std::atomic<std::size_t> jobs_{0};

  std::mutex mutex_;  // everything below
  core::kernel_random random_;
  std::map<std::string, place_pointer, std::less<>> places_;
  instant armed_ = instant::max();
  bool closed_ = false;
};

}  // namespace interlock::inline v1::runtime
