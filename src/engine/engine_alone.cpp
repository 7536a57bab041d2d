// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <mutex>
#include <utility>

/// One caller, one exclusive lock, and nobody else about: that is how most locks are taken. What is written down is
/// what is always written down, so that whoever comes in between finds everything in its place. Left out is what there
/// is nobody for, and what the store's promise to answer in time makes needless: sleepers, announcements, a timer for
/// silence. Any other answer than the usual one, or none, goes the usual way.
namespace interlock::inline v1::runtime {

using machine = core::claim_machine;
using phase = machine::phase;

// false: not alone, and nothing has happened. Otherwise the request is done, or to be waited for.
bool engine::acquire_alone(request& one, std::string_view name) {
  std::unique_lock lock(mutex_);
  auto* const at = slots_.find(name);
  if (at == nullptr || at->claim != nullptr || at->queue.first != nullptr || !alone()) [[unlikely]]
    return false;
  if (at->users++ == 0) --idle_slots_;
  one.at = at;
  count_open(+1);
  at->queue.push_back(one);
  one.queued = true;
  ++at->queued;
  auto& claim = new_claim(*at, one, 1);
  at->claim = &claim;
  claim.machine.start(one.started, one.how);
  ++claim.pins;
  const auto asked = told(claim);
  lock.unlock();
  {
    const lone_question mine(claim, one);
    ask_enter(asked, claim, one.how, one.started, inline_work::with_answer);
  }
  if (one.done.load(std::memory_order_acquire)) [[likely]]
    return true;
  lock.lock();
  if (!one.done.load(std::memory_order_relaxed) && at->claim == &claim) set_alarm(claim, claim.machine.due());
  return true;
}

// As deliver(), if it is as simple as that.
bool engine::granted_alone(request& one, claim_record& claim, const standing& as) {
  const auto now = time_.now();
  const std::lock_guard lock(mutex_);
  auto& at = *one.at;
  const bool simple = as.is == standing::kind::held && claim.machine.at() == phase::asking && at.claim == &claim &&
                      at.queue.first == &one && at.queued == 1 && !closing_ &&
                      now < core::believed_until(one.started, one.terms.lease);
  if (!simple) [[unlikely]]
    return false;
  claim.machine.answered(one.started, now, as);
  claim.token = as.token;
  claim.tokens = as.tokens;
  claim.ask_tokens = 1;
  claim.memo = as.memo;
  claim.run_started = now;
  claim.run = 0;
  one.outcome.emplace(new_hold(one, claim, now));
  at.queue.remove(one);
  --at.queued;
  one.queued = false;
  count_open(-1);
  --at.users;
  --claim.pins;
  set_alarm(claim, claim.machine.due());
  one.done.store(true, std::memory_order_relaxed);  // this thread's own
  return true;
}

// The same as with acquire_alone().
bool engine::release_alone(detail::hold& held, request& one) {
  if (!fetches_in_time_ || options_.observer || calls_->is_current()) return false;
  std::unique_lock lock(mutex_);
  auto& at = *held.at;
  const bool simple = held.claim != nullptr && held.is.load(std::memory_order_relaxed) == lock_state::held &&
                      held.depth == 1 && at.claim == held.claim && at.queue.first == nullptr &&
                      held.claim->upgrade == nullptr && one.started < held.claim->machine.until() && alone();
  if (!simple) [[unlikely]]
    return false;
  auto& claim = *std::exchange(held.claim, nullptr);  // its pin is the question's now
  held.depth = 0;
  held.is.store(lock_state::released, std::memory_order_release);
  claim.held = nullptr;
  claim.releasing = true;
  detach(claim);
  const bool final = claim.machine.drop(one.started).next == machine::ask::leave_final;
  claim.leaving = true;
  ++leaving_;
  one.for_what = request::wish::leave;
  one.at = &at;
  ++at.users;
  count_open(+1);
  one.on = &claim;
  claim.leaver = &one;
  const auto asked = told(claim);
  lock.unlock();
  {
    const lone_question mine(claim, one);
    ask_leave(asked, claim, final ? finality::final : finality::answered, one.started, inline_work::with_answer);
  }
  if (one.done.load(std::memory_order_acquire)) [[likely]]
    return true;
  lock.lock();
  if (one.done.load(std::memory_order_relaxed)) return true;
  set_alarm(one, one.started + patience_);
  if (one.on == &claim) set_alarm(claim, claim.machine.due());
  return true;
}

// As claim_left() and what follows from it.
bool engine::departed_alone(request& one, claim_record& claim, departure how) {
  const std::lock_guard lock(mutex_);
  const bool simple =
      how == departure::released && claim.leaver == &one && claim.machine.at() == phase::leaving && !closing_;
  if (!simple) [[unlikely]]
    return false;
  claim.machine.departed(one.started, how);
  claim.leaving = false;
  --leaving_;
  claim.leaver = nullptr;
  one.outcome.emplace(hold_ptr{});
  count_open(-1);
  --one.at->users;
  one.done.store(true, std::memory_order_relaxed);
  unpin(claim);
  return true;
}

}  // namespace interlock::inline v1::runtime
