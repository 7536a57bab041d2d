// SPDX-License-Identifier: MIT
#include "backends/sqlite/store.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace interlock::inline v1::sqlite_store {

using core::book_news;
using core::claim_book;

namespace {
constexpr int resend_tries = 50;  // a full socket buffer empties as soon as its owner gets to run
constexpr int stale_sockets = 256, most_sockets = 4096;
constexpr long short_life = 20'000'000;  // ns: what has not ended by then pays for its socket
constexpr std::size_t few = 16;
constexpr milliseconds without_socket{10};
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
    if (!listen()) break;  // who could not make a socket cannot use one; the others' timers find out
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

void store::listen_to_others() noexcept {
  const visit here(*this);
  const std::lock_guard door(door_);
  if (!closed_.load()) listen();
}

void store::tell_others(const claim_secret& cell) noexcept {
  const visit here(*this);
  const std::lock_guard door(door_);
  if (!closed_.load() && listen()) channel_->announce(cell, most_sockets);
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
    if (listen()) channel_->sweep(stale_sockets);
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

void store::subscribe() {
  wakes_ = loop_.when_readable(channel_->fd(), [this] { channel_->receive(events_); });
}

bool store::listen() {
  if (!channel_) return false;
  if (channel_->listening()) return true;
  if (!channel_->listen()) return false;
  subscribe();
  return true;
}

// Before the claim is written, so that nobody sends to a socket that is not there yet.
void store::listen_for(const claim& who, standing& as) {
  const bool held = as.is == standing::kind::held;
  if (held && soon_timer_ >= 0 && early_.size() < few) return early_.push_back(who.secret);
  if (!held && as.is != standing::kind::waiting) return;
  const bool heard = listen();
  ledger_->tell_at(heard ? channel_->id() : 0);
  if (!heard && !held) as.look_again_in = std::min(std::max(as.look_again_in, milliseconds{1}), without_socket);
}

void store::listen_soon() {
  const std::lock_guard door(door_);  // settle() may come before we are done here
  soon_timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (soon_timer_ < 0) return;
  const itimerspec then{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = short_life}};
  ::timerfd_settime(soon_timer_, 0, &then, nullptr);
  soon_ = loop_.when_readable(soon_timer_, [this] { settle(); });
}

void store::settle() {
  subscription over;
  std::vector<claim_secret> early;
  {
    const std::lock_guard door(door_);
    if (closed_.load() || soon_timer_ < 0) return;
    ::close(std::exchange(soon_timer_, -1));
    over = std::move(soon_);
    early = std::exchange(early_, {});
    if (!early.empty()) listen();
  }
  for (const auto& one : early) events_.look_again(one);
}

void store::close() noexcept {
  if (closed_.exchange(true)) return;
  worker_.stop();
  while (visits_.load() != 0) std::this_thread::yield();
  {
    std::unique_lock door(door_);
    const auto wakes = std::move(wakes_), soon = std::move(soon_);
    door.unlock();  // they end when their calls are over, and settle() comes through the door
  }
  const std::lock_guard door(door_);
  if (soon_timer_ >= 0) ::close(std::exchange(soon_timer_, -1));
  ledger_.reset();
  channel_.reset();
}

}  // namespace interlock::inline v1::sqlite_store
