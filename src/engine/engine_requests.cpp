// SPDX-License-Identifier: MIT
#include "core/names.hpp"
#include "engine/block_pool.hpp"
#include "engine/engine.hpp"

#include <utility>

/// Callers: checking what they ask for, queueing them, answering them.
namespace interlock::inline v1::runtime {

using core::shown_name;
using phase = core::claim_machine::phase;

namespace {

constexpr milliseconds longest_wait = std::chrono::hours{24 * 365};

failure bad(const std::string& text) { return failure(errc::invalid_argument, text); }
std::string in_ms(milliseconds span) { return std::to_string(span.count()) + " ms"; }

bool fits(milliseconds value, milliseconds least, milliseconds most) noexcept {
  return value >= least && value <= most;
}
failure bad_span(std::string_view what, milliseconds value, milliseconds least, milliseconds most) {
  return bad(std::string(what) + " of " + in_ms(value) + " is not between " + in_ms(least) + " and " + in_ms(most));
}

failure lacking(const store_traits& has, std::string_view what) {
  const auto layout = has.layout.empty() ? std::string{} : ", layout " + has.layout + ",";
  return failure(errc::unsupported, "the " + has.store + " store" + layout + " has no " + std::string(what));
}

}  // namespace

result<void> engine::fill(request& one, const wanted_claim& wanted) const {
  const auto& asked = wanted.options;
  const auto& has = traits();
  if (wanted.name.size() > has.name_max) [[unlikely]]
    return check_name(wanted.name);  // the rest of it when the name is looked up
  one.terms.lease = asked.lease.value_or(lease_);
  one.terms.lock_delay = asked.lock_delay;
  one.terms.max_hold = asked.max_hold;
  one.terms.patience = patience_;
  one.terms.push = has.push;
  if (!fits(one.terms.lease, has.lease_min, has.lease_max)) [[unlikely]]
    return bad_span("a lease", one.terms.lease, has.lease_min, has.lease_max);
  if (const auto most = has.lease_max - one.terms.lease; !fits(asked.lock_delay, milliseconds{0}, most)) [[unlikely]]
    return bad_span("a lock_delay", asked.lock_delay, milliseconds{0}, most);
  if (asked.max_hold && !fits(*asked.max_hold, milliseconds{1}, longest_wait)) [[unlikely]]
    return bad_span("a max_hold", *asked.max_hold, milliseconds{1}, longest_wait);
  if (asked.wait && !fits(*asked.wait, milliseconds{0}, longest_wait)) [[unlikely]]
    return bad_span("a wait", *asked.wait, milliseconds{0}, longest_wait);

  one.mode = asked.mode;
  one.owner = asked.owner;
  one.how = asked.wait && *asked.wait == milliseconds{0} ? entry::attempt : wanted.how;
  if (wanted.limit == 0) [[likely]] {
    if (asked.permits != 1) [[unlikely]]
      return bad("permits = " + std::to_string(asked.permits) + " is for semaphores; a lock has just one");
    if (asked.mode == lock_mode::shared && !has.shared) [[unlikely]]
      return lacking(has, "shared mode");
    one.weight = asked.mode == lock_mode::shared ? 1 : lock_capacity;
  } else {
    if (!has.permits) return lacking(has, "semaphores");
    if (asked.mode == lock_mode::shared) return bad("a semaphore has no shared mode");
    if (asked.permits < 1 || asked.permits > wanted.limit)
      return bad("permits = " + std::to_string(asked.permits) + " is not between 1 and the semaphore's limit of " +
                 std::to_string(wanted.limit));
    one.weight = asked.permits;
    one.capacity = wanted.limit;
  }
  if (asked.owner && (asked.mode == lock_mode::shared || wanted.limit != 0)) [[unlikely]]
    return bad("an owner is for exclusive locks: shared holds and permits do not re-enter");
  one.started = time_.now();
  if (asked.wait && one.how == entry::queue) one.wait_until = one.started + *asked.wait;
  return {};
}

result<hold_ptr> engine::acquire(std::shared_ptr<detail::client_handle> client, const wanted_claim& wanted,
                                 const std::stop_token& stop) {
  if (forked()) [[unlikely]]
    return closed_failure();
  request one(std::move(client));
  if (auto ok = fill(one, wanted); !ok) [[unlikely]]
    return ok.error();
  if (stop.stop_requested()) [[unlikely]]
    return failure(errc::cancelled, "cancelled before " + shown_name(wanted.name) + " was asked for");
  one.sleeper = &parker::of_this_thread();
  if (!may_be_alone(one, stop) || !acquire_alone(one, wanted.name)) return acquire_in_turn(one, wanted, stop);
  if (!one.done.load(std::memory_order_acquire)) [[unlikely]]
    wait_for(one, backend::awaited::answer, stop);
  return std::move(*one.outcome);
}

result<hold_ptr> engine::acquire_in_turn(request& one, const wanted_claim& wanted, const std::stop_token& stop) {
  aftermath out(one.started, inline_work::if_brief);
  wait_reason why;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return closed_failure();
    if (auto joined = join(one, wanted.name, out); !joined) return joined.error();
    why = awaited_by(one);
    out.here = how_to_ask(why, stop.stop_possible() || one.wait_until != instant::max(), out);
  }
  run(out);
  if (!one.done.load(std::memory_order_acquire)) wait_for(one, why, stop);
  return std::move(*one.outcome);
}

result<void> engine::begin_async(const wanted_claim& wanted, std::shared_ptr<request> kept) {
  if (forked()) return closed_failure();
  auto& one = *kept;
  if (auto ok = fill(one, wanted); !ok) return ok;
  aftermath out(one.started);
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return closed_failure();
    if (auto joined = join(one, wanted.name, out, std::move(kept)); !joined) return joined;
  }
  run(out);
  return {};
}

void engine::wait_for(request& one, wait_reason why, const std::stop_token& stop) {
  if (calls_->is_current())
    cancel(one,
           failure(errc::deadlock,
                   "a blocking call on one of interlock's own threads would wait for itself; use the async_ twin"));
  const auto on_stop = [&] { cancel(one, failure(errc::cancelled, "cancelled by the caller")); };
  std::optional<std::stop_callback<decltype(on_stop)>> listening;
  if (stop.stop_possible()) listening.emplace(stop, on_stop);
  sleep(one, why);
}

// The first to wait for the store listens to it alone and needs no other thread to be woken.
void engine::sleep(request& one, wait_reason why) {
  int news = why && !one.done.load(std::memory_order_acquire) ? store_->borrow_news(*why) : -1;
  bool soon = why == backend::awaited::answer;  // who unparks us meanwhile has to wait those milliseconds
  for (;;) {
    const auto seen = one.sleeper->ticket();
    if (one.done.load(std::memory_order_acquire)) break;
    if (news < 0) [[unlikely]] {
      one.sleeper->park(seen);
    } else if (std::exchange(soon, false) ? store_->await_news() == backend::arrival::the_end
                                          : one.sleeper->park_beside(news, seen) && !store_->read_news()) {
      news = -1;
      store_->return_news(backend::loan_end::others_wait);
    }
  }
  if (news < 0) [[unlikely]]
    return;
  const bool quiet = open_requests_.load(std::memory_order_relaxed) == 0 && cells_->idle();
  store_->return_news(quiet ? backend::loan_end::quiet : backend::loan_end::others_wait);
}

// A callback has often made the next request, and the answer to that is for this thread again: it listens for a moment
// itself. Nobody has to be woken twice then, first to read and then to call back.
bool engine::listen(parker& mine, std::uint32_t seen) noexcept {
  constexpr int moment = 10;  // milliseconds; longer would keep lone callers from reading for themselves
  bool idle = false;
  backend* store = nullptr;
  {
    const std::lock_guard lock(mutex_);
    leave_forgotten();
    idle = closing_ || open_requests_ == 0;
    store = store_.get();
  }
  if (store == nullptr) return false;  // an observer was told of the connection before the store was there
  const int news = idle ? -1 : store->borrow_news(backend::awaited::answer);
  if (news < 0) {
    store->flush();
    return false;
  }
  // While an answer is under way, this thread can be woken by nothing else, for some milliseconds.
  auto got = mine.ticket() == seen ? read_together(true) : backend::arrival::something;
  if (got == backend::arrival::nothing && mine.park_beside(news, seen, moment)) got = read_together(false);
  const bool more = got == backend::arrival::something;
  store->return_news(more ? backend::loan_end::back_soon : backend::loan_end::others_wait);
  return more;
}

// [mutex_] Nothing: it is answered already, or waits for callers of this process alone.
engine::wait_reason engine::awaited_by(const request& one) {
  if (one.done.load(std::memory_order_relaxed)) return {};
  const auto* claim = one.on != nullptr ? one.on : one.at->claim;
  if (claim == nullptr) return {};
  if (claim->machine.at() == phase::waiting) return backend::awaited::news;
  if (claim->machine.asking_now() || one.for_what == request::wish::upgrade) return backend::awaited::answer;
  return {};
}

// [mutex_] A caller that waits for the store's answer, and nobody else for anything: it may as well fetch it.
inline_work engine::how_to_ask(const wait_reason& why, bool wakes_early, const aftermath& out) const noexcept {
  const bool alone = why == backend::awaited::answer && open_requests_.load(std::memory_order_relaxed) == 1 &&
                     fetches_answers_ && out.questions.size() == 1 && cells_->idle() && !calls_->is_current();
  if (!alone) return inline_work::if_brief;
  return wakes_early || !fetches_in_time_ ? inline_work::with_answer_soon : inline_work::with_answer;
}

result<void> engine::join(request& one, std::string_view name, aftermath& out, std::shared_ptr<request> kept) {
  const auto found = options_.prefix.empty() ? slot_of(name, {}) : slot_of(full_name(name), name);
  if (!found) return found.error();
  auto& at = **found;
  one.self = std::move(kept);
  one.at = &at;
  ++at.users;
  count_open(+1);
  if (one.mode == lock_mode::exclusive && one.capacity == lock_capacity) [[likely]] {
    join_queue(one, out);
  } else {
    auto& mine = new_claim(at, one, 1);
    mine.sole = &one;
    one.on = &mine;
    start(mine, one.how, out);
  }
  if (!one.done.load(std::memory_order_relaxed) && one.wait_until != instant::max()) set_alarm(one, one.wait_until);
  return {};
}

void engine::join_queue(request& one, aftermath& out) {
  auto& at = *one.at;
  if (auto* now_held = at.current;
      one.owner && now_held != nullptr && now_held->owner == one.owner && now_held->valid()) [[unlikely]]
    if (auto same = now_held->itself.lock()) {
      ++same->depth;
      return finish(one, std::move(same), out);
    }
  at.queue.push_back(one);
  one.queued = true;
  ++at.queued;
  if (at.claim == nullptr) [[likely]]
    return serve(at, out);
  // An attempt does not wait for anybody, here or elsewhere. While the store has not answered yet, nobody knows.
  const bool taken = at.claim->machine.at() == phase::held || at.claim->machine.at() == phase::waiting;
  if (one.how == entry::attempt && taken) return finish(one, about(at, failure(errc::busy), "trying"), out);
}

void engine::finish(request& one, result<hold_ptr> outcome, aftermath& out) {
  auto& at = *one.at;
  count_open(-1);
  timetable_.take_out(one);
  if (one.queued) {
    at.queue.remove(one);
    --at.queued;
    one.queued = false;
  }
  if (one.on != nullptr && one.on->sole == &one) one.on->sole = nullptr;
  if (one.on != nullptr && one.on->leaver == &one) one.on->leaver = nullptr;
  if (!outcome && one.for_what == request::wish::acquire) [[unlikely]]
    emit(event_kind::gave_up, at, {}, out.now - one.started, loss_reason::none, &outcome.error());
  one.outcome.emplace(std::move(outcome));
  leave_slot(at);
  if (one.self) {
    auto self = std::move(one.self);
    one.done.store(true, std::memory_order_release);
    out.announced.push_back(std::move(self));
    return;
  }
  auto* sleeper = one.sleeper;
  one.done.store(true, std::memory_order_release);  // from here on the caller may return: `one` is gone
  if (sleeper != nullptr && sleeper != &parker::of_this_thread()) out.sleepers.push_back(sleeper);
}

hold_ptr engine::new_hold(request& one, claim_record& claim, instant now) {
  auto& at = *one.at;
  auto held = std::allocate_shared<detail::hold>(pool_allocator<detail::hold>{}, std::move(one.client), at);
  ++at.users;
  held->secret = claim.secret;
  held->mode.store(claim.mode, std::memory_order_relaxed);
  held->token.store(claim.token, std::memory_order_relaxed);
  held->until.store(claim.machine.until().time_since_epoch().count(), std::memory_order_relaxed);
  if (one.owner) {
    held->owner = one.owner;
    held->itself = held;
  }
  held->since = now;
  held->claim = &claim;
  claim.held = held.get();
  claim.releasing = false;
  claim.published = false;
  ++claim.pins;
  if (at.claim == &claim) at.current = held.get();
  if (claim.mode == lock_mode::exclusive && claim.tokens > 0) {
    ++claim.token;
    --claim.tokens;
  }
  return held;
}

void engine::grant(request& one, claim_record& claim, aftermath& out) {
  auto held = new_hold(one, claim, out.now);
  emit(event_kind::acquired, *one.at, claim.secret, out.now - one.started, loss_reason::none, nullptr);
  finish(one, std::move(held), out);
}

void engine::answer_queue(slot& at, const failure& why, bool attempts_only, aftermath& out) {
  for (auto* one = at.queue.first; one != nullptr;) {
    auto* next = one->after;
    if (!attempts_only || one->how == entry::attempt) finish(*one, why, out);
    one = next;
  }
}

void engine::cancel(request& one, const failure& why) noexcept {
  if (forked()) return;
  aftermath out(time_.now());
  {
    const std::lock_guard lock(mutex_);
    if (one.done.load(std::memory_order_relaxed)) return;
    if (one.for_what == request::wish::upgrade) {
      finish_convert(*one.on, why, out);
    } else {
      auto& at = *one.at;
      auto* own = one.on;
      const bool queued = one.queued;
      finish(one, about(at, why, "waiting"), out);
      if (own != nullptr && own->machine.at() != phase::leaving) {
        apply(*own, own->machine.drop(out.now), out);
      } else if (queued && at.queue.first == nullptr && at.claim != nullptr && at.current == nullptr) {
        release_claim(*at.claim, out);  // nobody here wants it any more
      }
    }
  }
  run(out);
}

void engine::timed_out(request& one, aftermath& out) {
  auto& at = *one.at;
  switch (one.for_what) {
    case request::wish::leave:
      return finish(one,
                    about(at, failure(errc::indeterminate, "no answer from the store yet; interlock goes on trying"),
                          "releasing"),
                    out);
    case request::wish::upgrade:
      return finish_convert(*one.on,
                            about(at,
                                  one.answered ? failure(errc::busy, "others read")
                                               : failure(errc::indeterminate, "no answer from the store"),
                                  "converting"),
                            out);
    case request::wish::acquire: break;
  }
  auto* claim = one.on != nullptr ? one.on : at.claim;
  const bool known = claim == nullptr || claim->machine.at() != phase::asking;
  if (!known) {  // no word from the store yet, so "busy" would be a guess; patience ends this
    one.how = entry::attempt;
    return set_alarm(one, instant::max());
  }
  const bool queued = one.queued;
  auto* own = one.on;
  finish(one, about(at, failure(errc::busy), "waiting"), out);
  if (own != nullptr)
    apply(*own, own->machine.drop(out.now), out);
  else if (queued && at.queue.first == nullptr && at.claim != nullptr && at.current == nullptr)
    release_claim(*at.claim, out);
}

failure engine::about(const slot& at, const failure& why, std::string_view doing) const {
  std::string text = traits().store + ": " + std::string(doing) + " for " + shown_name(at.name());
  if (why == errc::busy && why.message().empty()) return failure(errc::busy, text + ": somebody else has it");
  return failure(why.kind(), text + (why.message().empty() ? "" : ": " + why.message()));
}

}  // namespace interlock::inline v1::runtime
