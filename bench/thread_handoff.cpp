// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "counted_store.hpp"
#include "machine.hpp"
#include "ping_pong.hpp"

#include <interlock/client.hpp>

#include <sched.h>

#include <array>
#include <exception>
#include <thread>
#include <utility>

namespace bench {
namespace {

/// Two threads that pass one lock to each other: whoever has it lets go once the other one asks for it, and asks again
/// at once. Without that, on one core, a thread would take a free lock thousands of times before the other one runs.
/// What counts is the holder changing.
class handoff_contest {
 public:
  explicit handoff_contest(const interlock::client& locks)
      : one_([=, this] { play(locks, 0); }), two_([=, this] { play(locks, 1); }) {}
  handoff_contest(const handoff_contest&) = delete;
  handoff_contest& operator=(const handoff_contest&) = delete;
  ~handoff_contest() { end(); }

  [[nodiscard]] const std::atomic<std::uint64_t>& handoffs() const { return handoffs_; }
  [[nodiscard]] std::uint64_t grants() const { return grants_.load(std::memory_order_relaxed); }
  /// Throws what a player met.
  void finish() {
    end();
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  void end() {
    over_ = true;
    if (one_.joinable()) one_.join();
    if (two_.joinable()) two_.join();
  }
  void play(const interlock::client& locks, int me) try {
    auto& asking = asking_[static_cast<std::size_t>(me)];
    const auto& other_asks = asking_[static_cast<std::size_t>(1 - me)];
    while (!over_.load(std::memory_order_relaxed)) {
      asking.store(true, std::memory_order_relaxed);
      const auto held = locks.acquire("orders/42");
      asking.store(false, std::memory_order_relaxed);
      add_one(grants_);
      if (std::exchange(last_, me) != me)
        add_one(handoffs_);
      else
        sched_yield();  // the other one was interrupted on its way into the queue
      while (!other_asks.load(std::memory_order_relaxed) && !over_.load(std::memory_order_relaxed)) sched_yield();
    }
  } catch (...) {
    if (!over_.exchange(true)) failed_ = std::current_exception();
  }

  // Written by who holds the lock.
  int last_ = -1;
  static void add_one(std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> handoffs_{0}, grants_{0};
  std::array<std::atomic<bool>, 2> asking_{};
  std::atomic<bool> over_{false};
  std::exception_ptr failed_;
  std::thread one_, two_;
};

void measure_on(const std::string& store, const std::string& url, const settings& with, report& out) {
  double repeats = 0;  // grants that were no hand-off, per hand-off
  const measure floor = [&] {
    const futex_ping_pong game;
    return pace_of(game.turns(), with.seconds);
  };
  const interlock::client locks(url);
  const measure candidate = [&] {
    handoff_contest game(locks);
    const double pace = pace_of(game.handoffs(), with.seconds);
    game.finish();
    repeats = static_cast<double>(game.grants()) / static_cast<double>(game.handoffs().load()) - 1;
    return pace;
  };
  auto row =
      compare(with, floor, candidate)
          .against(2.5, {.name = "thread-handoff/" + store,
                         .what = "one hand-off between two threads on " + store + ":, against one futex wake-up"});
  row.note += "; " + show_number(100 * repeats) + " % of grants stayed with their thread";
  out.add(std::move(row));
}

// A look per block of reserved tokens, and one per 50 ms to see whether other processes wait.
void count_requests(const std::string& store, const std::string& url, const settings& with, report& out) {
  const interlock::client locks("counted-" + url);
  handoff_contest game(locks);
  sleep_for(with.seconds / 10);
  const auto requests_before = requests_to_counted_stores(), handoffs_before = game.handoffs().load();
  sleep_for(with.seconds);
  const auto requests = requests_to_counted_stores() - requests_before;
  const auto handoffs = game.handoffs().load() - handoffs_before;
  game.finish();
  out.add({.name = "thread-handoff/" + store + "-asks",
           .what = "requests to the " + store + " store per 1000 hand-offs between two threads",
           .value = 1000.0 * static_cast<double>(requests) / static_cast<double>(std::max<std::uint64_t>(handoffs, 1)),
           .bar = 2,
           .note = std::to_string(requests) + " requests, " + std::to_string(handoffs) + " hand-offs"});
}

}  // namespace

void thread_handoff(const settings& with, report& out) {
  register_counted_stores();
  measure_on("memory", "memory:", with, out);
  count_requests("memory", "memory:", with, out);
  if (!with_sqlite) return out.skip("thread-handoff/sqlite", no_sqlite);
  const scratch_folder folder(with.folder);
  const auto url = "sqlite:" + folder.file("locks.db");
  measure_on("sqlite", url, with, out);
  count_requests("sqlite", url, with, out);
}

}  // namespace bench
