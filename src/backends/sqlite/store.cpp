// SPDX-License-Identifier: MIT
#include "backends/sqlite/store.hpp"

#include <thread>

namespace interlock::inline v1::sqlite_store {

using core::book_news;
using core::claim_book;

namespace {
constexpr int resend_tries = 50;  // a full socket buffer empties as soon as its owner gets to run
constexpr int stale_sockets = 256;
}  // namespace

result<standings> store::look_at(ledger& books, std::span<const claim> whom) {
  standings answers;
  if (!books.check_identity()) return answers;
  answers.reserve(whom.size());
  for (const auto& who : whom) {
    auto one = books.change(
        who.name, &who, [&](claim_book& book, instant now, claim_book::news& out) { return book.look(who, now, out); });
    if (one) {
      answers.emplace_back(*one);
    } else if (auto why = books.pardon()) {
      answers.emplace_back(std::move(*why));  // one unreadable name must not cost the others their leases
    } else {
      break;
    }
  }
  return answers;
}

// To the processes concerned, right after the commit: this is the hand-off. Those that are dead are taken out of the
// queue, which may grant others.
void store::spread(std::vector<notice>& ours) {
  sweep_due_.store(ledger_->sweep_is_due(), std::memory_order_relaxed);
  auto notices = ledger_->take_notices();
  while (!notices.empty()) {
    auto dead = send_all(std::move(notices), ours);
    if (dead.empty()) return;
    const auto begun = ledger_->begin();
    if (!begun) return;  // then their leases end them
    if (!*begun) return queue_discard(std::move(dead));
    for (const auto& one : dead) ledger_->discard(one);
    if (!ledger_->commit()) return;
    notices = ledger_->take_notices();
  }
}

void store::queue_discard(std::vector<notice> dead) {
  queue_chore([this, dead = std::move(dead)](std::vector<notice>& ours) {
    const auto begun = ledger_->begin();
    if (!begun) return true;
    if (!*begun) return false;
    for (const auto& one : dead) ledger_->discard(one);
    if (ledger_->commit()) spread(ours);
    return true;
  });
}

// Returns the grants whose claimants are dead.
std::vector<notice> store::send_all(std::vector<notice> all, std::vector<notice>& ours) {
  std::vector<notice> dead, unsent;
  for (auto& one : all) {
    if (!channel_) break;  // who could not make a socket cannot use one; the others' timers find out
    if (one.channel == channel_->id()) {
      ours.push_back(std::move(one));
      continue;
    }
    switch (send(one)) {
      case wake_channel::sent::full: unsent.push_back(std::move(one)); break;
      case wake_channel::sent::dead:
        if (one.news.is == book_news::kind::granted) dead.push_back(std::move(one));
        break;
      case wake_channel::sent::yes:
      case wake_channel::sent::unknown: break;
    }
  }
  resend(std::move(unsent), resend_tries);
  return dead;
}

// Not worth a transaction if it turns out that they died: their timers, or their leases, see to it.
void store::resend(std::vector<notice> unsent, int tries) {
  if (unsent.empty() || tries == 0) return;
  auto again = [this, left = std::move(unsent), tries](std::vector<notice>&) mutable {
    std::erase_if(left, [&](const notice& one) { return send(one) != wake_channel::sent::full; });
    resend(std::move(left), tries - 1);
    return true;
  };
  worker_.queue_later(milliseconds{1}, std::make_unique<chore<decltype(again)>>(*this, std::move(again)));
}

wake_channel::sent store::send(const notice& one) noexcept {
  const bool evicted = one.news.is == book_news::kind::evicted;
  return channel_->send(one.channel, {.evicted = evicted, .whom = one.news.whom, .as = one.news.as});
}

void store::tell(const std::vector<notice>& ours) noexcept {
  for (const auto& one : ours) {
    if (one.news.is == book_news::kind::granted)
      events_.granted(one.news.whom, one.news.as);
    else
      events_.evicted(one.news.whom);
  }
}

void store::survey(survey_query what, completion<survey_page> done) {
  const visit here(*this);
  if (here.refused(done)) return;
  struct reading final : job {
    store& of;
    survey_query what;
    completion<survey_page> done;
    std::optional<result<survey_page>> answer;
    reading(store& s, survey_query w, completion<survey_page> d) : of(s), what(std::move(w)), done(std::move(d)) {}
    bool attempt() override {
      answer = of.ledger_->survey(what);
      return true;
    }
    void finish() override { done(std::move(*answer)); }
    void refuse(const failure& why) override { done(why); }
  };
  worker_.queue(std::make_unique<reading>(*this, std::move(what), std::move(done)));
}

void store::queue_sweep() {
  sweep_due_.store(false, std::memory_order_relaxed);
  queue_chore([this](std::vector<notice>& ours) {
    if (!ledger_->sweep_is_due()) return true;
    if (auto swept = ledger_->sweep(); swept && !*swept) return false;
    if (channel_) channel_->sweep(stale_sockets);
    spread(ours);
    return true;
  });
}

void store::queue_fold() {
  if (fold_queued_.exchange(true)) return;
  queue_chore([this](std::vector<notice>&) {
    ledger_->fold_log();
    fold_queued_.store(false);
    return true;
  });
}

void store::close() noexcept {
  if (closed_.exchange(true)) return;
  worker_.stop();
  wakes_ = {};
  while (visits_.load() != 0) std::this_thread::yield();
  const std::lock_guard door(door_);
  ledger_.reset();
  channel_.reset();
}

}  // namespace interlock::inline v1::sqlite_store
