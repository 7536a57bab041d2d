// SPDX-License-Identifier: MIT
#include "core/claim_machine.hpp"

#include "core/planted.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::core {

using kind = standing::kind;

namespace {

constexpr std::uint8_t late_grants = 3;

// What asking again cannot mend.
bool final_word(errc code) noexcept { return code != errc::unavailable && code != errc::indeterminate; }

}  // namespace

instant claim_machine::retry_time(instant now, double jitter) {
  const int doublings = std::min<int>(retries_, 7);
  if (retries_ < 255) ++retries_;
  const auto base = std::min(milliseconds{10} * (1 << doublings), std::max(terms_.lease / 10, milliseconds{10}));
  return now + std::chrono::duration_cast<boot_clock::duration>(base * (0.75 + jitter / 2));
}

instant claim_machine::quiet_limit() const noexcept {
  return quiet_since_ == instant::max() ? instant::max() : quiet_since_ + terms_.patience;
}

instant claim_machine::due() const noexcept {
  switch (phase_) {
    case phase::idle:
    case phase::over: return instant::max();
    case phase::asking:
    case phase::waiting: return asked_ ? quiet_limit() : std::min(look_at_, quiet_limit());
    case phase::held: {
      auto first = until_;
      if (terms_.max_hold) first = std::min(first, held_since_ + *terms_.max_hold);
      if (asked_) return std::min(first, asked_at_ + jeopardy_after(terms_.lease));
      return std::min(first, look_at_);
    }
    case phase::leaving: return std::min(undo_until_, asked_ ? asked_at_ + milliseconds{1'000} : look_at_);
  }
  return instant::max();
}

void claim_machine::question(instant now) noexcept {
  asked_ = true;
  asked_at_ = now;
  quiet_since_ = std::min(quiet_since_, now);
  look_at_ = instant::max();
}

claim_machine::step claim_machine::start(instant now, entry how) {
  phase_ = phase::asking;
  how_ = how;
  question(now);
  return {.next = ask::enter};
}

claim_machine::step claim_machine::answered(instant sent, instant now, const standing& as, double jitter) {
  if (planted(bug::deadline_from_reply)) sent = now;
  if (sent >= asked_at_) asked_ = false;
  quiet_since_ = instant::max();
  retries_ = 0;
  wrong_.reset();
  switch (phase_) {
    case phase::asking:
    case phase::waiting: return asking_answered(sent, now, as, jitter);
    case phase::held: return held_answered(sent, now, as, jitter);
    default: return {};
  }
}

claim_machine::step claim_machine::asking_answered(instant sent, instant now, const standing& as, double jitter) {
  last_ = as;
  switch (as.is) {
    case kind::held: {
      const auto until = believed_until(sent, terms_.lease);
      if (until > now) [[likely]] {
        look_at_ = on_grid(sent + terms_.lease / 3, terms_.lease);
        return hold(until, now, as);
      }
      // Ours in the store, but the answer took so long that we may not say so. Ask again; not for ever.
      if (++late_ < late_grants) return ask_look(now);
      return fail(now,
                  failure(errc::unavailable, "the store's answers take longer than the lease of " +
                                                 std::to_string(terms_.lease.count()) + " ms; ask for a longer lease"),
                  ask::leave);
    }
    case kind::waiting:
      phase_ = phase::waiting;
      until_ = believed_until(sent, waiting_lease(terms_.lease));
      wait_until_next_look(sent, now, as, jitter);
      if (std::exchange(hinted_, false)) return ask_look(now);
      return {.news = say::waiting};
    case kind::busy: phase_ = phase::over; return {.news = say::busy};
    case kind::gone: break;
  }
  if (as.reason == standing::cause::evicted) {
    evicted_ = true;
    return fail(now, failure(errc::lost, "the wait was broken by an administrator"), ask::nothing);
  }
  // Our lease ran out in the queue, or the store forgot us: never granted under this secret any more. Back of the
  // queue.
  phase_ = phase::asking;
  unanswered_ = false;
  question(now);
  return {.next = ask::enter_anew};
}

void claim_machine::wait_until_next_look(instant sent, instant now, const standing& as, double jitter) {
  look_at_ = on_grid(sent + waiting_lease(terms_.lease) / 3, waiting_lease(terms_.lease));
  if (planted(bug::lost_wakeup)) return;
  if (as.look_again_in > milliseconds{0}) {
    // The first in line asks when the lease in its way is over; the others behind it, one after the other.
    const auto place = std::min<std::uint32_t>(as.ahead, 20);
    look_at_ = std::min(look_at_, now + as.look_again_in + milliseconds{5 + 25 * place});
  }
  if (!terms_.push) {
    const auto poll = milliseconds{as.ahead < 3 ? 10 : 100} * (0.75 + jitter / 2);
    look_at_ = std::min(look_at_, now + std::chrono::duration_cast<boot_clock::duration>(poll));
  }
}

// Whoever asks the clock must find max_hold in it too: the timer that announces it may come late.
void claim_machine::believe(instant until) noexcept {
  until_ = terms_.max_hold ? std::min(until, held_since_ + *terms_.max_hold) : until;
}

claim_machine::step claim_machine::hold(instant until, instant now, const standing& as) {
  phase_ = phase::held;
  last_ = as;
  held_since_ = now;
  believe(until);
  late_ = 0;
  hinted_ = false;
  return {.news = say::granted};
}

claim_machine::step claim_machine::held_answered(instant sent, instant now, const standing& as, double jitter) {
  if (now >= until_) return timer(now, jitter);  // valid() has said no already: no answer makes it yes again
  last_.behind = as.behind;
  if (as.is == kind::held) {
    last_ = as;
    believe(std::max(until_, believed_until(sent, terms_.lease)));
    const auto third = terms_.lease / 3;
    look_at_ =
        on_grid(sent + std::chrono::duration_cast<boot_clock::duration>(third * (0.9 + jitter / 5)), terms_.lease);
    return {.news = std::exchange(jeopardy_, false) ? say::recovered : say::renewed};
  }
  // Asked while we waited, and overtaken by the push of our grant.
  if (as.is == kind::waiting && sent <= held_since_) return asked_ ? step{} : ask_look(now);
  evicted_ = as.reason == standing::cause::evicted;
  return lose(now, evicted_ ? loss_reason::broken : loss_reason::store_reset,
              as.is == kind::waiting ? ask::leave : ask::nothing);
}

claim_machine::step claim_machine::failed(instant now, const failure& why, double jitter) {
  asked_ = false;
  switch (phase_) {
    case phase::asking:
      if (why == errc::indeterminate) unanswered_ = true;  // "unavailable": nothing was sent, nothing comes late
      [[fallthrough]];
    case phase::waiting: {
      if (final_word(why.kind())) return fail(now, why, undo());
      wrong_ = why;
      look_at_ = retry_time(now, jitter);
      if (now >= quiet_limit()) return silence(now);
      return {};
    }
    case phase::held: {
      if (planted(bug::stop_after_one_failure)) {
        look_at_ = instant::max();
        return {};
      }
      look_at_ = retry_time(now, jitter);
      return {.news = std::exchange(jeopardy_, true) ? say::nothing : say::jeopardy};
    }
    case phase::leaving: look_at_ = std::min(retry_time(now, jitter), std::max(undo_until_, now)); return {};
    default: return {};
  }
}

claim_machine::step claim_machine::granted(instant now, const standing& as) {
  switch (phase_) {
    case phase::asking: hinted_ = true; return {};
    case phase::waiting: {
      const auto left = until_ - now;
      const auto lease = waiting_lease(terms_.lease);
      quiet_since_ = instant::max();
      if (left < lease / 10) return ask_look(now);  // ours, but for too short a time to say so: renew first
      if (left < lease / 2) look_at_ = now;
      return hold(until_, now, as);
    }
    default: return {};
  }
}

claim_machine::step claim_machine::evicted(instant now) {
  if (phase_ == phase::held) {
    evicted_ = true;
    return lose(now, loss_reason::broken, ask::nothing);
  }
  if (phase_ == phase::waiting || phase_ == phase::asking) {
    evicted_ = true;
    return fail(now, failure(errc::lost, "the wait was broken by an administrator"), undo());
  }
  return {};
}

claim_machine::step claim_machine::look_again(instant now) {
  const bool may = phase_ == phase::asking || phase_ == phase::waiting || phase_ == phase::held;
  if (may && !asked_) look_at_ = std::min(look_at_, now);
  // The answer under way may be older than what this is about, and have come another way.
  if (asked_ && (phase_ == phase::asking || phase_ == phase::waiting)) hinted_ = true;
  return {};
}

claim_machine::step claim_machine::doubt(instant now) {
  look_again(now);
  if (phase_ != phase::held || std::exchange(jeopardy_, true)) return {};
  return {.news = say::jeopardy};
}

claim_machine::step claim_machine::ask_look(instant now) {
  question(now);
  return {.next = ask::look};
}

claim_machine::step claim_machine::look_now(instant now) {
  if (phase_ != phase::held) return {};
  if (!asked_) return ask_look(now);
  look_at_ = now;
  return {};
}

claim_machine::step claim_machine::tidy(instant now) {
  if (phase_ != phase::over) return drop(now);
  finish(now, ask::leave);
  return {.next = ask::leave};
}

// The store has said nothing for as long as the caller bears it.
claim_machine::step claim_machine::silence(instant now) {
  const bool maybe = unanswered_ || asked_ || phase_ == phase::waiting;
  if (planted(bug::busy_for_unknown)) return fail(now, failure(errc::busy), undo());
  const auto within = " within " + std::to_string(terms_.patience.count()) + " ms" +
                      (wrong_ && !wrong_->message().empty() ? ": " + wrong_->message() : "");
  return fail(now,
              maybe ? failure(errc::indeterminate, "no answer from the store" + within + "; it is being undone")
                    : failure(errc::unavailable, "the store could not be used" + within),
              undo());
}

claim_machine::step claim_machine::timer(instant now, double jitter) {
  switch (phase_) {
    case phase::asking:
      if (now >= quiet_limit()) return silence(now);
      if (asked_ || now < look_at_) return {};
      question(now);
      return {.next = ask::enter};
    case phase::waiting:
      if (now >= quiet_limit()) return silence(now);
      if (asked_ || now < look_at_) return {};
      return ask_look(now);
    case phase::held:
      if (terms_.max_hold && now >= held_since_ + *terms_.max_hold)
        return lose(now, loss_reason::overheld, ask::nothing);
      if (now >= until_) {
        if (planted(bug::loss_untold)) return phase_ = phase::over, step{};
        return lose(now, loss_reason::lapsed, ask::leave);
      }
      if (asked_ && now >= asked_at_ + jeopardy_after(terms_.lease)) {
        asked_ = false;  // it may still be answered; meanwhile ask again
        look_at_ = planted(bug::stop_after_one_failure) ? instant::max() : retry_time(now, jitter);
        return {.news = std::exchange(jeopardy_, true) ? say::nothing : say::jeopardy};
      }
      if (!asked_ && now >= look_at_) return ask_look(now);
      return {};
    case phase::leaving:
      if (now >= undo_until_) {
        phase_ = phase::over;
        return {.news = say::left, .left = departure::gone};
      }
      if (now < due()) return {};
      question(now);
      return {.next = unanswered_ ? ask::leave_final : ask::leave};
    default: return {};
  }
}

claim_machine::ask claim_machine::undo() const noexcept {
  if (planted(bug::orphan_after_cancel)) return ask::nothing;
  if (phase_ != phase::asking) return unanswered_ ? ask::leave_final : ask::leave;
  return unanswered_ || asked_ ? ask::leave_final : ask::nothing;
}

void claim_machine::finish(instant now, ask then) noexcept {
  phase_ = then == ask::nothing ? phase::over : phase::leaving;
  retries_ = 0;
  unanswered_ = then == ask::leave_final;
  undo_until_ = now + store_lease() + milliseconds{1'000};  // by then the store has forgotten us in any case
  question(now);
  asked_ = then != ask::nothing;
}

claim_machine::step claim_machine::fail(instant now, failure why, ask then) {
  finish(now, then);
  return {.next = then, .news = say::failed, .why = std::move(why)};
}

claim_machine::step claim_machine::lose(instant now, loss_reason reason, ask then) {
  finish(now, then);
  return {.next = then, .news = say::lost, .loss = reason};
}

claim_machine::step claim_machine::drop(instant now) {
  if (phase_ == phase::leaving || phase_ == phase::over || phase_ == phase::idle) return {};
  const auto then = undo();
  if (then == ask::nothing) {
    phase_ = phase::over;
    return {.news = say::left, .left = departure::gone};
  }
  finish(now, then);
  return {.next = then};
}

claim_machine::step claim_machine::departed(instant, departure how) {
  if (phase_ != phase::leaving) [[unlikely]]
    return {};
  phase_ = phase::over;
  asked_ = false;
  return {.news = say::left, .left = how};
}

claim_machine::step claim_machine::give_up(instant now, loss_reason reason) {
  if (phase_ != phase::held) return drop(now);
  auto out = drop(now);
  out.news = say::lost;
  out.loss = reason;
  return out;
}

}  // namespace interlock::inline v1::core
