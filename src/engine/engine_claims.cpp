// SPDX-License-Identifier: MIT
#include "core/handoff.hpp"
#include "core/planted.hpp"
#include "engine/engine.hpp"

#include <memory>
#include <utility>

/// Claims: what their machines decide, and what that means for the callers and holds of this process.
namespace interlock::inline v1::runtime {

using machine = core::claim_machine;
using phase = machine::phase;

claim_record& engine::new_claim(slot& at, const request& like, std::uint32_t tokens) {
  if (spare_.empty()) {
    records_.push_back(std::make_unique<claim_record>());
    spare_.push_back(records_.back().get());
  }
  auto& one = *spare_.back();
  spare_.pop_back();
  std::destroy_at(&one.machine);
  std::construct_at(&one.machine, like.terms);
  one.at = &at;
  ++at.users;
  one.secret = random_.secret();
  one.mode = like.mode;
  one.weight = like.weight;
  one.capacity = like.capacity;
  one.ask_tokens = tokens;
  one.memo = 0;
  one.token = one.tokens = one.run = 0;
  one.passing_on = one.published = one.releasing = false;
  index(one);
  return one;
}

// What the store is told; its views live as long as the slot and the engine.
claim engine::told(const claim_record& one) const noexcept {
  claim out;
  out.name = one.at->full;
  out.secret = one.secret;
  out.mode = one.mode;
  out.weight = one.weight;
  out.capacity = one.capacity;
  out.lease = one.machine.store_lease();
  out.wait_lease = one.machine.store_wait_lease();
  out.tokens = one.ask_tokens;
  out.origin = &origin_;
  out.memo = one.memo;
  return out;
}

void engine::start(claim_record& one, entry how, aftermath& out) { apply(one, one.machine.start(out.now, how), out); }

// Somebody queues for the name and this process has no claim on it.
void engine::serve(slot& at, aftermath& out) {
  auto* first = at.queue.first;
  if (first == nullptr || at.claim != nullptr || closing_) return;
  auto& mine = new_claim(at, *first, at.queued > 1 ? core::token_block : 1);
  at.claim = &mine;
  const bool all_try = at.queued == 1 && first->how == entry::attempt;
  start(mine, all_try ? entry::attempt : entry::queue, out);
}

void engine::apply(claim_record& one, step next, aftermath& out) {
  if (next.next == machine::ask::enter_anew) [[unlikely]] {
    unindex(one);
    one.secret = random_.secret();
    one.memo = 0;
    index(one);
    next.next = machine::ask::enter;
  }
  if (next.next == machine::ask::look) [[unlikely]] {
    ++one.pins;
    out.looks.push_back(&one);
  } else if (next.next != machine::ask::nothing) {
    ++one.pins;
    out.questions.emplace([&]() -> aftermath::question { return {&one, next.next, one.machine.how(), told(one)}; });
  }
  const bool leaving = one.machine.at() == phase::leaving;
  if (leaving != one.leaving) {
    one.leaving = leaving;
    leaving ? ++leaving_ : --leaving_;
    if (leaving_ == 0 && closing_) quiet_.notify_all();
  }
  set_alarm(one, one.machine.due());
  ++one.pins;  // say() may end everything else that refers to it
  if (next.news != machine::say::nothing) say(one, next, out);
  --one.pins;
  settle_record(one);
}

void engine::say(claim_record& one, const step& next, aftermath& out) {
  auto& at = *one.at;
  switch (next.news) {
    case machine::say::nothing: return;
    case machine::say::waiting:
      if (one.sole != nullptr && one.sole->how == entry::attempt) {
        finish(*one.sole, about(at, failure(errc::busy), "waiting"), out);
        return apply(one, one.machine.drop(out.now), out);
      }
      if (at.claim != &one) return;
      answer_queue(at, about(at, failure(errc::busy), "waiting"), true, out);
      if (at.queue.first == nullptr) release_claim(one, out);
      return;
    case machine::say::busy:
      if (one.sole != nullptr) return finish(*one.sole, about(at, failure(errc::busy), "trying"), out);
      detach(one);
      answer_queue(at, about(at, failure(errc::busy), "trying"), true, out);
      return serve(at, out);
    case machine::say::failed: return claim_failed(one, *next.why, out);
    case machine::say::granted: return deliver(one, out);
    case machine::say::renewed:
    case machine::say::recovered:
      if (!refresh(one)) return apply(one, one.machine.give_up(out.now, loss_reason::lapsed), out);
      if (next.news == machine::say::recovered && one.held != nullptr) {
        change_state(*one.held, lock_state::held);
        emit(event_kind::recovered, at, one.secret, {}, loss_reason::none, nullptr);
      }
      if (one.passing_on) hand_over(one, out);
      return;
    case machine::say::jeopardy:
      if (one.held != nullptr) change_state(*one.held, lock_state::jeopardy);
      emit(event_kind::jeopardy, at, one.secret, {}, loss_reason::none, nullptr);
      if (one.passing_on) release_claim(one, out);
      return;
    case machine::say::lost: return claim_lost(one, next.loss, out);
    case machine::say::left: return claim_left(one, next.left, out);
  }
}

// The claim is ours: give it to the first caller who still wants it.
void engine::deliver(claim_record& one, aftermath& out) {
  one.token = one.machine.last().token;
  one.tokens = one.machine.last().tokens;
  one.ask_tokens = 1;
  one.memo = one.machine.last().memo;
  one.run_started = out.now;
  one.run = 0;
  if (one.sole != nullptr) return grant(*one.sole, one, out);
  auto& at = *one.at;
  if (at.claim != &one) [[unlikely]]
    return;
  auto* first = at.queue.first;
  if (first == nullptr || first->terms.lease > one.machine.terms().lease) [[unlikely]]
    return release_claim(one, out);
  grant(*first, one, out);
  if (at.queued > 0) [[unlikely]]
    answer_queue(at, about(at, failure(errc::busy), "trying"), true, out);  // attempts do not wait
}

// A confirmed renewal moves the deadline; nothing else does. false: its holder has been told already that it is over.
bool engine::refresh(claim_record& one) noexcept {
  const auto& word = one.machine.last();
  if (one.held != nullptr && !one.held->prolong(one.machine.until())) return false;
  if (one.mode == lock_mode::exclusive && word.tokens > 0 && word.token >= one.token + one.tokens) {
    one.token = word.token;  // a fresh block
    one.tokens = word.tokens;
    one.ask_tokens = 1;
  }
  one.run_started = time_.now();
  one.run = 0;
  return true;
}

// Its holder here has let go. Others here may wait; so may others elsewhere.
void engine::hand_over(claim_record& one, aftermath& out) {
  auto& at = *one.at;
  auto* next = at.queue.first;
  if (next == nullptr) return release_claim(one, out);
  const auto& terms = one.machine.terms();
  core::handoff_facts facts;
  facts.now = out.now;
  facts.until = one.machine.until();
  facts.run_started = one.run_started;
  facts.lease = terms.lease;
  facts.run = one.run;
  facts.behind = one.machine.last().behind;
  facts.tokens_left = one.tokens;
  facts.asked = one.passing_on;
  facts.jeopardy = one.machine.in_jeopardy();
  facts.published = one.published;
  facts.next_fits = next->terms.lease <= terms.lease && next->terms.lock_delay == terms.lock_delay && !terms.max_hold &&
                    !next->terms.max_hold;
  one.passing_on = false;
  switch (core::decide(facts)) {
    case core::handoff::give_back: return release_claim(one, out);
    case core::handoff::ask_first:
      one.passing_on = true;
      one.ask_tokens = core::token_block;
      return apply(one, one.machine.look_now(out.now), out);
    case core::handoff::pass_on: break;
  }
  ++one.run;
  if (core::planted(core::bug::token_after_handoff)) --one.token, ++one.tokens;
  grant(*next, one, out);
}

void engine::release_claim(claim_record& one, aftermath& out) {
  auto& at = *one.at;
  detach(one);
  ++at.users;  // serve() below must find the slot
  if (!core::planted(core::bug::renew_after_release)) apply(one, one.machine.drop(out.now), out);
  serve(at, out);
  leave_slot(at);
}

void engine::detach(claim_record& one) noexcept {
  one.passing_on = false;
  if (one.at->claim != &one) return;
  one.at->claim = nullptr;
  one.at->current = nullptr;
}

void engine::claim_failed(claim_record& one, const failure& why, aftermath& out) {
  auto& at = *one.at;
  const auto answer = about(at, why, "waiting");
  if (one.sole != nullptr) return finish(*one.sole, answer, out);
  if (at.claim != &one) return;
  detach(one);
  answer_queue(at, answer, false, out);
}

void engine::claim_lost(claim_record& one, loss_reason reason, aftermath& out) {
  auto& at = *one.at;
  if (one.upgrade != nullptr) finish_convert(one, failure(errc::lost, "the lock was lost while upgrading"), out);
  if (auto* held = std::exchange(one.held, nullptr)) {
    held->reason.store(reason, std::memory_order_release);
    emit(event_kind::lost, at, one.secret, out.now - held->since, reason, nullptr);
    change_state(*held, lock_state::lost);
    // Evicted or overheld: the record stays in the store until its lease is over, or until the holder has stopped.
    const bool stands =
        one.machine.at() == phase::over && (reason == loss_reason::broken || reason == loss_reason::overheld);
    if (!stands) {
      held->claim = nullptr;
      --one.pins;
    }
  }
  detach(one);
  serve(at, out);
}

void engine::claim_left(claim_record& one, departure how, aftermath& out) {
  auto& at = *one.at;
  auto* leaver = std::exchange(one.leaver, nullptr);
  if (leaver != nullptr) leaver->on = nullptr;
  if (how != departure::gone) [[likely]] {
    if (leaver != nullptr) finish(*leaver, hold_ptr{}, out);
  } else if (one.releasing) {
    const auto why = about(at, failure(errc::lost, "it was gone when the release arrived"), "releasing");
    emit(event_kind::release_failed, at, one.secret, {}, loss_reason::none, &why);
    if (leaver != nullptr) finish(*leaver, why, out);
  }
  if (how == departure::released) emit(event_kind::released, at, one.secret, {}, loss_reason::none, nullptr);
}

void engine::settle_record(claim_record& one) noexcept {
  if (one.machine.at() != phase::over || one.pins > 0 || one.at == nullptr) [[likely]]
    return;
  set_alarm(one, instant::max());
  unindex(one);
  leave_slot(*one.at);
  one.at = nullptr;
  one.sole = one.upgrade = one.leaver = nullptr;
  one.held = nullptr;
  spare_.push_back(&one);
}

// ---- the index by secret

namespace {
// `count` is a power of two.
std::size_t bucket_of(const claim_secret& secret, std::size_t count) noexcept {
  return std::hash<claim_secret>{}(secret) & (count - 1);
}
}  // namespace

claim_record* engine::find(const claim_secret& secret) noexcept {
  if (buckets_.empty()) return nullptr;
  auto* one = buckets_[bucket_of(secret, buckets_.size())];
  while (one != nullptr && !(one->secret == secret)) one = one->next;
  return one;
}

void engine::index(claim_record& one) {
  if (2 * indexed_ >= buckets_.size()) [[unlikely]] {
    std::vector<claim_record*> wider(std::max<std::size_t>(256, buckets_.size() * 2));
    for (auto* each : buckets_)
      while (each != nullptr) {
        auto* next = each->next;
        auto& head = wider[bucket_of(each->secret, wider.size())];
        each->next = std::exchange(head, each);
        each = next;
      }
    buckets_ = std::move(wider);
  }
  auto& head = buckets_[bucket_of(one.secret, buckets_.size())];
  one.next = std::exchange(head, &one);
  one.indexed = true;
  ++indexed_;
}

void engine::unindex(claim_record& one) noexcept {
  if (!std::exchange(one.indexed, false)) return;
  auto** link = &buckets_[bucket_of(one.secret, buckets_.size())];
  while (*link != &one) [[unlikely]] link = &(*link)->next;
  *link = one.next;
  --indexed_;
}

}  // namespace interlock::inline v1::runtime
