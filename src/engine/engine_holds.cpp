// SPDX-License-Identifier: MIT
#include "core/names.hpp"
#include "engine/engine.hpp"

#include <utility>

/// Holds: release, conversion, loss signals.
namespace interlock::inline v1::runtime {

using phase = core::claim_machine::phase;
using detail::hold;

namespace {
bool believed(const hold& held) noexcept {
  const auto is = held.is.load(std::memory_order_relaxed);
  return is == lock_state::held || is == lock_state::jeopardy;
}
failure lost_failure(const hold& held) {
  return failure(errc::lost,
                 "the lock " + core::shown_name(held.name()) + " was lost: " + std::string(to_string(held.why_lost())));
}
}  // namespace

// True: the release is settled, `done` says how. False: `waiter` will be answered by the store.
bool engine::begin_leaving(hold& held, request* waiter, aftermath& out, result<void>& done) {
  auto* claim = held.claim;
  if (believed(held) && claim != nullptr && out.now >= claim->machine.until()) [[unlikely]]  // no timer has said so yet
    apply(*claim, claim->machine.timer(out.now), out);
  if (!believed(held)) [[unlikely]] {
    const bool lost = held.is.load(std::memory_order_relaxed) == lock_state::lost;
    if (lost) done = lost_failure(held);
    if (held.depth > 0) --held.depth;
    if (lost && held.depth == 0 && held.claim != nullptr) {  // the record was left standing until its holder stopped
      claim = std::exchange(held.claim, nullptr);
      apply(*claim, claim->machine.tidy(out.now), out);
      unpin(*claim);
    }
    return true;
  }
  if (--held.depth > 0) [[unlikely]]
    return true;
  held.is.store(lock_state::released, std::memory_order_release);
  held.claim = nullptr;
  claim->held = nullptr;
  claim->releasing = true;
  auto& at = *claim->at;
  if (claim->upgrade != nullptr) [[unlikely]]
    finish_convert(*claim, failure(errc::cancelled, "released while upgrading"), out);
  if (at.claim == claim) {
    at.current = nullptr;
    if (at.queue.first != nullptr) [[unlikely]] {
      hand_over(*claim, out);
      if (claim->machine.at() != phase::leaving) {  // passed on, or about to be: for this caller it is over
        emit(event_kind::released, at, held.secret, out.now - held.since, loss_reason::none, nullptr);
        unpin(*claim);
        return true;
      }
    } else {
      release_claim(*claim, out);
    }
  } else {
    apply(*claim, claim->machine.drop(out.now), out);
  }
  const bool waits = waiter != nullptr && claim->machine.at() == phase::leaving;
  if (waits) {
    waiter->for_what = request::wish::leave;
    waiter->at = &at;
    ++at.users;
    count_open(+1);
    waiter->on = claim;
    claim->leaver = waiter;
    set_alarm(*waiter, out.now + patience_);
  }
  unpin(*claim);
  return !waits;
}

result<void> engine::release(hold& held) noexcept try {
  if (held.forked()) [[unlikely]]
    return closed_failure();
  request one;
  one.sleeper = &parker::of_this_thread();
  one.started = time_.now();
  if (!release_alone(held, one)) return release_in_turn(held, one);
  if (!one.done.load(std::memory_order_acquire)) [[unlikely]]
    sleep(one, backend::awaited::answer);
  if (!*one.outcome) [[unlikely]]
    return one.outcome->error();
  return {};
} catch (...) {
  return failure(errc::internal);
}

result<void> engine::release_in_turn(hold& held, request& one) {
  aftermath out(one.started, inline_work::if_brief);
  result<void> done;
  bool settled = false;
  wait_reason why;
  {
    const std::lock_guard lock(mutex_);
    settled = begin_leaving(held, &one, out, done);
    if (!settled) why = awaited_by(one);
    out.here = how_to_ask(why, false, out);
  }
  run(out);
  if (settled) return done;
  // The answer never depends on other callbacks, so waiting for it is fine on any thread but the loop's.
  if (!one.done.load(std::memory_order_acquire)) sleep(one, why);
  if (!*one.outcome) return one.outcome->error();
  return {};
}

void engine::begin_release(hold& held, std::shared_ptr<request> kept) {
  auto& one = *kept;
  one.for_what = request::wish::leave;
  if (held.forked()) {
    one.outcome.emplace(closed_failure());
    return one.announce(std::move(kept));
  }
  one.started = time_.now();
  aftermath out(one.started);
  result<void> done;
  {
    const std::lock_guard lock(mutex_);
    one.self = std::move(kept);
    if (begin_leaving(held, &one, out, done)) {
      one.outcome.emplace(done ? result<hold_ptr>(hold_ptr{}) : result<hold_ptr>(done.error()));
      out.announced.push_back(std::move(one.self));
    }
  }
  run(out);
}

void engine::let_go(hold& held) noexcept {
  if (held.forked()) return;
  aftermath out(time_.now(), without_waiting());
  result<void> done;
  {
    const std::lock_guard lock(mutex_);
    begin_leaving(held, nullptr, out, done);
  }
  run(out);
}

void engine::forget(hold& held) noexcept {
  if (calls_->is_working() && held.is.load(std::memory_order_relaxed) == lock_state::released &&
      forgotten_count_ < forgotten_.size()) {
    forgotten_[forgotten_count_++] = held.at;
    return;
  }
  std::unique_lock lock(mutex_);
  if (held.claim == nullptr && !believed(held)) return leave_slot(*held.at);
  aftermath out(time_.now(), without_waiting());  // granted to somebody who has gone
  held.depth = 1;
  result<void> done;
  begin_leaving(held, nullptr, out, done);
  leave_slot(*held.at);
  lock.unlock();
  run(out);
}

std::stop_token engine::stop_token_of(hold& held) {
  if (held.forked()) {
    std::stop_source gone;
    gone.request_stop();
    return gone.get_token();
  }
  const std::lock_guard lock(mutex_);
  auto& stop = held.listeners().stop;
  if (held.is.load(std::memory_order_relaxed) == lock_state::lost) stop.request_stop();
  return stop.get_token();
}

subscription engine::watch(hold& held, std::function<void(lock_state)> call) {
  auto one = std::make_shared<watcher>(std::move(call));
  if (!held.forked()) {
    const std::lock_guard lock(mutex_);
    held.listeners().watchers.push_back(one);
  }
  return subscription(one);
}

void engine::publish(hold& held) {
  if (held.forked()) return;
  const std::lock_guard lock(mutex_);
  if (held.claim != nullptr) held.claim->published = true;
}

void watcher::tell(lock_state news) {
  const std::lock_guard lock(mutex_);
  if (call_) call_(news);
}

void watcher::end() noexcept {
  const std::lock_guard lock(mutex_);
  call_ = nullptr;
}

// The state is true at once; who asked to be told is told where user code runs.
void engine::change_state(hold& held, lock_state to) {
  held.is.store(to, std::memory_order_release);
  if (!held.heard) return;
  calls_->post([stop = held.heard->stop, watchers = held.heard->watchers, to]() mutable {
    if (to == lock_state::lost) stop.request_stop();
    for (auto& one : watchers) one->tell(to);
  });
}

// ---- upgrade and downgrade

result<void> engine::upgrade(hold& held, std::optional<milliseconds> wait, const std::stop_token& stop) {
  return convert(held, lock_mode::exclusive, wait, stop);
}

result<void> engine::downgrade(hold& held) { return convert(held, lock_mode::shared, {}, {}); }

result<void> engine::convert(hold& held, lock_mode mode, std::optional<milliseconds> wait,
                             const std::stop_token& stop) {
  if (held.forked()) return closed_failure();
  if (!traits().convert)
    return failure(errc::unsupported, "the " + traits().store + " store cannot convert a held lock");
  request one;
  one.for_what = request::wish::upgrade;
  one.mode = mode;
  one.sleeper = &parker::of_this_thread();
  one.started = time_.now();
  const auto weight = mode == lock_mode::shared ? 1 : lock_capacity;
  const auto how = wait && *wait > milliseconds{0} ? entry::queue : entry::attempt;
  claim_record* claim = nullptr;
  interlock::claim asked;
  wait_reason why;
  {
    const std::lock_guard lock(mutex_);
    claim = held.claim;
    if (!believed(held) || claim == nullptr) {
      if (held.is.load(std::memory_order_relaxed) == lock_state::lost) return lost_failure(held);
      return failure(errc::invalid_argument, "a guard that holds nothing cannot be converted");
    }
    if (claim->capacity != lock_capacity)
      return failure(errc::invalid_argument, "a permit cannot be upgraded or downgraded");
    if (claim->mode == mode) return {};
    if (held.depth > 1)
      return failure(errc::invalid_argument, "a re-entered lock cannot be converted: give back the inner holds first");
    if (claim->upgrade != nullptr) return failure(errc::deadlock, "this guard is being converted already");
    claim->upgrade = &one;
    one.on = claim;
    one.at = claim->at;
    ++claim->at->users;
    count_open(+1);
    ++claim->pins;
    if (wait && *wait > milliseconds{0})
      one.wait_until = one.started + std::min(*wait, milliseconds{std::chrono::hours{24 * 365}});
    asked = told(*claim);
    set_alarm(one, one.started + patience_);
    why = awaited_by(one);
  }
  ask_convert(*claim, asked, mode, weight, how, one.started);
  wait_for(one, why, stop);
  const auto got = std::move(*one.outcome);
  if (got) return {};
  if (mode == lock_mode::exclusive &&
      (got.error() == errc::busy || got.error() == errc::cancelled || got.error() == errc::indeterminate) &&
      how == entry::queue)
    take_back_upgrade(*claim);
  return got.error();
}

void engine::converted(claim_record& one, instant sent, result<standing> got, aftermath& out) {
  if (one.machine.at() != phase::held) return;
  if (!got) return finish_convert(one, about(*one.at, got.error(), "converting"), out);
  switch (got->is) {
    case standing::kind::held: {
      adopt_mode(one, *got, out);
      if (one.upgrade != nullptr && one.mode == one.upgrade->mode) finish_convert(one, {}, out);
      return;
    }
    case standing::kind::busy:
      return finish_convert(one, about(*one.at, failure(errc::busy, "others read"), "upgrading"), out);
    case standing::kind::waiting: {
      if (one.upgrade == nullptr) return;
      one.upgrade->answered = true;
      set_alarm(*one.upgrade, one.upgrade->wait_until);
      const auto soon = got->look_again_in > milliseconds{0} ? got->look_again_in + milliseconds{5} : milliseconds{250};
      one.machine.look_by(out.now + soon);  // in case the push is lost
      return set_alarm(one, one.machine.due());
    }
    case standing::kind::gone: return apply(one, one.machine.answered(sent, out.now, *got), out);
  }
}

// A look at a reader that waits to upgrade. Where the store says when, it is looked at again: readers of other
// libraries may leave without a word.
void engine::upgrade_looked(claim_record& one, const standing& as, aftermath& out) {
  if (one.mode == one.upgrade->mode) return finish_convert(one, {}, out);
  if (one.machine.at() != phase::held || as.look_again_in <= milliseconds{0}) return;
  one.machine.look_by(out.now + as.look_again_in);
  set_alarm(one, one.machine.due());
}

void engine::finish_convert(claim_record& one, result<void> how, aftermath& out) {
  auto* waiting = std::exchange(one.upgrade, nullptr);
  if (waiting == nullptr) return;
  waiting->on = nullptr;
  finish(*waiting, how ? result<hold_ptr>(hold_ptr{}) : result<hold_ptr>(how.error()), out);
}

// The store says in which mode it has us; what follows from a change of it.
void engine::adopt_mode(claim_record& one, const standing& as, aftermath& out) {
  if (one.mode == as.mode || one.capacity != lock_capacity) return;
  one.mode = as.mode;
  one.weight = as.mode == lock_mode::shared ? 1 : lock_capacity;
  if (one.held != nullptr) one.held->mode.store(as.mode, std::memory_order_release);
  if (as.mode == lock_mode::exclusive) {
    one.token = as.token;
    one.tokens = 0;
    if (one.held != nullptr) one.held->token.store(as.token, std::memory_order_release);
    return;
  }
  const bool queue = one.at->claim == &one;
  detach(one);  // a reader is not passed on; writers of this process queue in the store
  if (queue) serve(*one.at, out);
}

// Nobody waits for the upgrade any more: whatever came of it, be a reader again.
void engine::take_back_upgrade(claim_record& one) {
  interlock::claim asked;
  {
    const std::lock_guard lock(mutex_);
    if (one.machine.at() != phase::held || one.held == nullptr) return;
    asked = told(one);
    ++one.pins;
  }
  ask_convert(one, asked, lock_mode::shared, 1, entry::attempt, time_.now());
}

}  // namespace interlock::inline v1::runtime
