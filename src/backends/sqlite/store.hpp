// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sqlite/ledger.hpp"
#include "backends/sqlite/sqlite_cells.hpp"
#include "backends/sqlite/wake_channel.hpp"
#include "backends/sqlite/worker.hpp"

#include <interlock/backend.hpp>

#include <sched.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::sqlite_store {

/// The backend: who does a request on which thread, and who is told afterwards.
///
/// A request is done on the caller's thread if it may be and nothing is in the way: no earlier request waits, no other
/// thread has the connection, no other process is writing. Otherwise the worker does it, in order.
class store final : public backend {
  friend class sqlite_store::cells;

 public:
  store(const backend_environment& environment, std::unique_ptr<ledger> books, std::unique_ptr<wake_channel> channel,
        store_traits traits, milliseconds patience, const std::string& path)
      : time_(environment.time),
        events_(environment.events),
        traits_(std::move(traits)),
        patience_(patience),
        loop_(environment.loop),
        ledger_(std::move(books)),
        channel_(std::move(channel)),
        worker_(door_, environment.time,
                failure(errc::unavailable, "sqlite store " + path +
                                               ": another process has kept it locked for writing all the time; is it "
                                               "stopped in the middle of a change?")) {
    if (channel_) channel_->tell_cells_to([this](const claim_secret& cell) { cells_.told(cell); });
    if (channel_ && channel_->listening()) subscribe();
    if (channel_ && !channel_->listening()) listen_soon();
    if (ledger_->sweep_is_due()) queue_sweep();
  }
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() override { close(); }

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }

  void enter(const claim& who, entry how, inline_work where, completion<standing> done) override {
    ask<standing>(where, std::move(done), [this, who, how](ledger& books) {
      return told<standing>(
          books.change(who.name, &who, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
            auto as = book.enter(who, how, nullptr, now, out);
            if (as && channel_ && !channel_->listening()) listen_for(who, *as);
            return as;
          }));
    });
  }
  void look(std::span<const claim> whom, inline_work where, completion<standings> done) override {
    const visit here(*this);
    if (here.refused(done)) return;
    if (!brief<standings>(where, done, [whom](ledger& books) { return look_at(books, whom); }))
      queue<standings>(std::move(done),
                       [kept = std::vector(whom.begin(), whom.end())](ledger& books) { return look_at(books, kept); });
    if (sweep_due_.load(std::memory_order_relaxed)) queue_sweep();
  }
  void leave(const claim& who, finality how, inline_work where, completion<departure> done) override {
    ask<departure>(where, std::move(done), [who, how](ledger& books) {
      return told<departure>(
          books.change(who.name, &who, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
            return book.leave(who, how, now, out);
          }));
    });
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    ask<standing>(inline_work::never, std::move(done), [=, this](ledger& books) {
      if (how == entry::queue) listen();
      return told<standing>(
          books.change(who.name, &who, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
            return book.convert(who, mode, weight, how, now, out);
          }));
    });
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    ask<bool>(inline_work::never, std::move(done), [name = std::string(name), who, force](ledger& books) {
      return told<bool>(
          books.change(name, nullptr, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
            return book.evict(who, force, now, out);
          }));
    });
  }
  void survey(survey_query what, completion<survey_page> done) override;
  cell_store* cells() noexcept override { return &cells_; }
  int borrow_news(awaited what) noexcept override {
    const visit here(*this);
    if (what != awaited::news || closed_.load() || !channel_ || !channel_->listening()) return -1;
    return channel_->borrow();
  }
  bool read_news() noexcept override {
    const visit here(*this);
    if (closed_.load()) return false;
    channel_->receive(events_, false);
    return true;
  }
  void return_news(loan_end) noexcept override {
    const visit here(*this);
    if (!closed_.load()) channel_->give_back();
  }
  void close() noexcept override;

 private:
  /// Keeps close() from returning while a call is under way.
  class visit {
   public:
    explicit visit(store& of) noexcept : of_(of) { of_.visits_.fetch_add(1); }
    ~visit() { of_.visits_.fetch_sub(1); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    template <class Done>
    bool refused(Done& done) const {
      if (!of_.closed_.load()) return false;
      done(failure(errc::closed, "sqlite store: this client was closed"));
      return true;
    }

   private:
    store& of_;
  };

  /// One request that waits for its turn.
  template <class T, class Work>
  struct request final : job {
    request(store& of, completion<T> done, Work work) : store_(of), done_(std::move(done)), work_(std::move(work)) {}
    bool attempt() override { return (answer_ = store_.template run<T>(work_, ours_)).has_value(); }
    void finish() override {
      store_.tell(ours_);
      done_(std::move(*answer_));
    }
    void refuse(const failure& why) override { done_(why); }

   private:
    store& store_;
    completion<T> done_;
    Work work_;
    std::optional<result<T>> answer_;
    std::vector<notice> ours_;
  };
  /// Work nobody waits for. What fails in it is met again by the next request, which has somebody to tell.
  template <class Work>
  struct chore final : job {
    chore(store& of, Work work) : store_(of), work_(std::move(work)) {}
    bool attempt() override { return work_(ours_); }
    void finish() override { store_.tell(ours_); }
    void refuse(const failure&) override {}

   private:
    store& store_;
    Work work_;
    std::vector<notice> ours_;
  };

  template <class T, class Answer>
  static result<T> told(std::optional<Answer> answer) {
    if (answer) return result<T>(std::move(*answer));
    return failure(errc::internal, "sqlite store: no answer");  // never seen: commit() has the real reason
  }
  static result<standings> look_at(ledger& books, std::span<const claim> whom);

  template <class T, class Work>
  void ask(inline_work where, completion<T> done, Work work) {
    const visit here(*this);
    if (here.refused(done)) return;
    if (!brief<T>(where, done, work)) queue<T>(std::move(done), std::move(work));
  }
  template <class T, class Work>
  bool brief(inline_work where, completion<T>& done, Work work);
  template <class T, class Work>
  void queue(completion<T> done, Work work) {
    auto one = std::make_unique<request<T, Work>>(*this, std::move(done), std::move(work));
    one->until = time_.now() + patience_;
    worker_.queue(std::move(one));
  }
  template <class Work>
  void queue_chore(Work work) {
    worker_.queue(std::make_unique<chore<Work>>(*this, std::move(work)));
  }

  // Of cells: listening, and telling those who do.
  void listen_to_others() noexcept;
  void tell_others(const claim_secret& cell) noexcept;

  // With the door shut.
  bool listen();
  void subscribe();
  void listen_for(const claim& who, standing& as);
  // In a short life a holder listens only after this, and then looks whether it has missed an eviction.
  void listen_soon();
  void settle();

  template <class T, class Work>
  std::optional<result<T>> run(Work& work, std::vector<notice>& ours);
  void spread(std::vector<notice>& ours);
  std::vector<notice> send_all(std::vector<notice> all, std::vector<notice>& ours);
  wake_channel::sent send(const notice& one) noexcept;
  void resend(std::vector<notice> unsent, int tries);
  void tell(const std::vector<notice>& ours) noexcept;
  void queue_discard(std::vector<notice> dead);
  void queue_sweep();
  void queue_fold();

  const time_source& time_;
  backend_events& events_;
  store_traits traits_;
  milliseconds patience_;

  reactor& loop_;

  static constexpr int brief_tries = 4;  // a change takes some 10 us; waiting for that much is brief

  std::mutex door_;  // of ledger_ and, for sending, of channel_
  std::unique_ptr<ledger> ledger_;
  std::unique_ptr<wake_channel> channel_;
  worker worker_;
  sqlite_store::cells cells_{*this};
  subscription wakes_;
  subscription soon_;                // until settle()
  int soon_timer_ = -1;              // likewise
  std::vector<claim_secret> early_;  // entered before that, by now perhaps gone again

  std::atomic<int> visits_{0};
  std::atomic<bool> closed_{false}, sweep_due_{false}, fold_queued_{false};
};

template <class T, class Work>
bool store::brief(inline_work where, completion<T>& done, Work work) {
  if (where != inline_work::if_brief || !worker_.idle()) return false;
  std::vector<notice> ours;
  std::unique_lock door(door_, std::defer_lock);
  for (int i = 0; i < brief_tries; ++i) {
    if (i > 0) sched_yield();
    if (!door.owns_lock() && !door.try_lock()) continue;
    if (!worker_.idle()) return false;  // somebody was told to wait in the meantime, and comes first
    auto answer = run<T>(work, ours);
    if (!answer) continue;
    door.unlock();
    tell(ours);
    done(std::move(*answer));
    return true;
  }
  return false;
}

// No answer: somebody else is writing.
template <class T, class Work>
std::optional<result<T>> store::run(Work& work, std::vector<notice>& ours) {
  for (;;) {
    const auto begun = ledger_->begin();
    if (!begun) return result<T>(begun.error());
    if (!*begun) return std::nullopt;
    result<T> answer = work(*ledger_);
    const auto done = ledger_->commit();
    if (!done) return result<T>(done.error());
    if (*done == ledger::outcome::again) continue;
    spread(ours);
    if (ledger_->fold_is_due()) queue_fold();
    return answer;
  }
}

}  // namespace interlock::inline v1::sqlite_store
