// SPDX-License-Identifier: MIT
#pragma once

#include "core/lease.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <optional>

namespace interlock::inline v1::core {

/// What one claim is to be: fixed when it is made.
struct claim_terms {
  milliseconds lease{};
  milliseconds lock_delay{};
  milliseconds patience{};
  std::optional<milliseconds> max_hold{};
  bool push = true;  ///< the store wakes waiters; otherwise they poll
};

/// The life of one claim, from its first enter to its last leave: when to ask, wait, look again, give up, declare it
/// lost, undo. Pure: no sockets, threads or sleeping; the time and what happened go in, what to do next comes out.
///
///     claim_machine m{terms};
///     auto next = m.start(t0, entry::queue);                 // ask: enter
///     next = m.answered(t0, t0 + 3ms, waiting_standing);     // say: waiting; look again when m.due()
///     next = m.granted(t0 + 9ms, held_standing);             // say: granted; the lease counts from t0
///
/// Every answer is given with the instant its question was sent: deadlines count from there.
class claim_machine {
 public:
  enum class phase : std::uint8_t {
    idle,
    asking,   ///< enter is under way or to be repeated
    waiting,  ///< in the store's queue
    held,
    leaving,  ///< leave is under way or to be repeated
    over,
  };
  enum class ask : std::uint8_t {
    nothing,
    enter,
    enter_anew,  ///< with a fresh secret: the old claim ended in the queue
    look,
    leave,
    leave_final,
  };
  enum class say : std::uint8_t { nothing, waiting, busy, failed, granted, renewed, jeopardy, recovered, lost, left };

  struct step {
    ask next = ask::nothing;
    say news = say::nothing;
    std::optional<failure> why{};          ///< failed
    loss_reason loss = loss_reason::none;  ///< lost
    departure left = departure::gone;      ///< left
  };

  claim_machine() = default;
  explicit claim_machine(const claim_terms& terms) noexcept : terms_(terms) {}

  step start(instant now, entry how);
  /// The answer to an enter or a look that was sent at `sent`.
  step answered(instant sent, instant now, const standing& as, double jitter = 0.5);
  /// The answer was a failure.
  step failed(instant now, const failure& why, double jitter = 0.5);
  /// The store pushed a grant, or the news that we were evicted, or "look again".
  step granted(instant now, const standing& as);
  step evicted(instant now);
  step look_again(instant now);
  /// Another server answers than before: nothing is believed without a doubt until it has been asked.
  step doubt(instant now);
  /// due() has come.
  step timer(instant now, double jitter = 0.5);
  /// Nobody wants the claim any more: release it, or leave the queue, or make sure a late enter has no effect.
  step drop(instant now);
  step departed(instant now, departure how);
  /// The store's record is known to be no more than this: stop believing, for a reason from outside (close).
  step give_up(instant now, loss_reason reason);

  [[nodiscard]] phase at() const noexcept { return phase_; }
  /// When timer() wants to be called; instant::max() if never.
  [[nodiscard]] instant due() const noexcept;
  /// While held: when it will be called lost unless a renewal is confirmed. While waiting: until when it is in the
  /// queue.
  [[nodiscard]] instant until() const noexcept { return until_; }
  [[nodiscard]] bool in_jeopardy() const noexcept { return jeopardy_; }
  [[nodiscard]] bool was_evicted() const noexcept { return evicted_; }
  [[nodiscard]] const standing& last() const noexcept { return last_; }
  [[nodiscard]] const claim_terms& terms() const noexcept { return terms_; }
  [[nodiscard]] entry how() const noexcept { return how_; }
  /// How long the store is to keep it: the caller's lease and lock_delay.
  [[nodiscard]] milliseconds store_lease() const noexcept { return terms_.lease + terms_.lock_delay; }
  [[nodiscard]] milliseconds store_wait_lease() const noexcept {
    return waiting_lease(terms_.lease) + terms_.lock_delay;
  }
  /// Someone in this process queues behind this claim now: an attempt becomes a wait.
  void queue() noexcept { how_ = entry::queue; }
  /// While held: look no later than this, e.g. because an upgrade may have come through.
  void look_by(instant when) noexcept { look_at_ = std::min(look_at_, when); }
  /// While held: ask the store now, unless it is being asked.
  step look_now(instant now);
  /// A lost claim whose record was left standing in the store on purpose: its holder has stopped, so remove it.
  step tidy(instant now);
  [[nodiscard]] bool asking_now() const noexcept { return asked_; }

 private:
  step asking_answered(instant sent, instant now, const standing& as, double jitter);
  step held_answered(instant sent, instant now, const standing& as, double jitter);
  step hold(instant until, instant now, const standing& as);
  void believe(instant until) noexcept;
  step lose(instant now, loss_reason reason, ask then);
  void finish(instant now, ask then) noexcept;
  void question(instant now) noexcept;
  [[nodiscard]] instant quiet_limit() const noexcept;
  step fail(instant now, failure why, ask then);
  step ask_look(instant now);
  step silence(instant now);
  void wait_until_next_look(instant sent, instant now, const standing& as, double jitter);
  [[nodiscard]] instant retry_time(instant now, double jitter);
  [[nodiscard]] ask undo() const noexcept;

  claim_terms terms_{};
  phase phase_ = phase::idle;
  entry how_ = entry::queue;
  bool asked_ = false;       // a question is under way
  bool unanswered_ = false;  // an enter was given up on: it may still happen
  bool hinted_ = false;      // told something before an answer that may not know of it yet
  bool jeopardy_ = false;
  bool evicted_ = false;
  std::uint8_t late_ = 0;     // grants that were over when their answer arrived
  std::uint8_t retries_ = 0;  // since the store's last word
  standing last_{};
  std::optional<failure> wrong_{};        // the last failure since the store's last word
  instant asked_at_{};                    // of the question under way
  instant quiet_since_ = instant::max();  // the first question since the store's last word
  instant until_{};                       // believed
  instant look_at_ = instant::max();      // or enter again, or leave again
  instant held_since_{};
  instant undo_until_{};  // leaving: the store has forgotten us by then at the latest
};

}  // namespace interlock::inline v1::core
