// SPDX-License-Identifier: MIT
#include "backends/quorum/quorum_claim.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::quorum_store {

using core::node_vote;
using phase = core::quorum_machine::phase;

namespace {

constexpr milliseconds hand_off_pause{10};  // a queue's node has given us its vote: the others may follow

node_vote vote_of(const result<standing>& got) {
  node_vote out;
  if (!got) {
    const auto why = got.error().kind();
    out.is = why == errc::unavailable     ? node_vote::kind::absent
             : why == errc::indeterminate ? node_vote::kind::silent
                                          : node_vote::kind::refused;
    return out;
  }
  switch (got->is) {
    case standing::kind::held:
      out.is = node_vote::kind::yes;
      out.token = got->token;
      out.tokens = got->tokens;
      break;
    case standing::kind::waiting:
      out.is = node_vote::kind::place;
      out.left = got->look_again_in;
      out.ahead = got->ahead;
      break;
    case standing::kind::busy:
      out.is = node_vote::kind::busy;
      out.left = got->look_again_in;
      break;
    case standing::kind::gone:
      out.is = got->reason == standing::cause::evicted ? node_vote::kind::evicted : node_vote::kind::gone;
      break;
  }
  return out;
}

}  // namespace

quorum_claim::quorum_claim(quorum& of, const claim& who)
    : quorum_(of),
      name_(who.name),
      origin_(who.origin != nullptr ? *who.origin : claim_origin{}),
      needed_(of.rules().needed_for(who.capacity)),
      what_(who),
      machine_(of.rules(), needed_) {
  what_.name = name_;
  what_.origin = &origin_;
  learn(who);
}

// What the engine may have changed since. Nodes keep it longer by as much as their clocks may be wrong beyond what the
// engine reckons with.
void quorum_claim::learn(const claim& who) {
  const auto more = std::max<std::int64_t>(quorum_.rules().drift_percent - 1, 0);
  what_.lease = who.lease + who.lease * more / 100;
  what_.wait_lease = who.wait_lease + who.wait_lease * more / 100;
  what_.tokens = 1;
  what_.mode = who.mode;
  what_.weight = who.weight;
}

claim quorum_claim::told() const {
  const std::lock_guard lock(mutex_);
  return what_;
}

// ---- what the engine asks

void quorum_claim::enter(const claim& who, entry how, inline_work here, completion<standing> done) {
  change(here, [&](instant now) {
    learn(who);
    how_ = how;
    askers_.push_back(std::move(done));
    return machine_.ask(now, how, what_.lease);
  });
}

bool quorum_claim::look(const claim& who, inline_work here, completion<standing>& done) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = machine_.at();
    const bool waits = at == phase::waiting || at == phase::asking || at == phase::raising;
    const bool fresh = at == phase::held && who.tokens > 1 && quorum_.rules().tokens && who.mode != lock_mode::shared;
    if (!waits && !fresh) return false;
  }
  change(here, [&](instant now) {
    learn(who);
    askers_.push_back(std::move(done));
    if (machine_.at() == phase::held) return machine_.renew(now, what_.lease);
    how_ = entry::queue;
    return machine_.ask(now, entry::queue, what_.lease);
  });
  return true;
}

void quorum_claim::leave(const claim& who, finality how, inline_work here, completion<departure> done) {
  change(here, [&](instant now) {
    if (what_.lease < who.lease) what_.lease = who.lease;
    look_at_ = instant::max();
    leavers_.push_back(std::move(done));
    auto next = machine_.leave(now, how, what_.lease);
    // Whoever still waits for an answer to an enter does not want it any more.
    if (!askers_.empty()) answers_.asked.emplace_back(std::exchange(askers_, {}), standing{});
    return next;
  });
}

standing quorum_claim::renewed() const {
  const std::lock_guard lock(mutex_);
  standing out;
  out.is = standing::kind::held;
  out.mode = what_.mode;
  out.token = machine_.token();
  out.tokens = out.token == 0 ? 0 : std::max(machine_.tokens(), 1U);
  out.behind = 1;
  return out;
}

void quorum_claim::lost(inline_work here) {
  change(here, [&](instant now) { return machine_.abandon(now); });
  quorum_.forget(*this);
}

void quorum_claim::drop() noexcept {
  std::vector<completion<standing>> askers;
  std::vector<completion<departure>> leavers;
  const std::lock_guard lock(mutex_);
  askers.swap(askers_);
  leavers.swap(leavers_);
}

// ---- being told, and time

void quorum_claim::hint(unsigned node) noexcept {
  instant when;
  {
    const std::lock_guard lock(mutex_);
    if (machine_.at() != phase::waiting) return;
    const bool enough = machine_.hint(node);
    const auto now = quorum_.now();
    if (enough)
      when = now + machine_.stagger(quorum_.jitter());
    else if (quorum_.settings().layout == "native")
      when = now + hand_off_pause;
    else
      return;
    if (when >= look_at_) return;
    look_at_ = when;
    if (when <= now) look_at_ = instant::max();
    if (when > now) return quorum_.at(when, weak_from_this());
  }
  quorum_.tell_look_again(secret());
}

void quorum_claim::ring(instant now) {
  bool look = false;
  {
    const std::lock_guard lock(mutex_);
    if (now >= alarm_at_) alarm_at_ = instant::max();
    if (now >= look_at_) {
      look_at_ = instant::max();
      look = machine_.at() == phase::waiting;
    }
  }
  if (look) quorum_.tell_look_again(secret());
  change(inline_work::if_brief, [&](instant time) { return machine_.timer(time, quorum_.jitter()); });
}

// ---- carrying out

// One change to the machine; then, with no lock held and one thread at a time, what it asks for: so that a node is told
// everything in the order in which it was decided.
template <class F>
void quorum_claim::change(inline_work here, F apply) {
  bool done = false, over = false;
  {
    const std::lock_guard lock(mutex_);
    const auto now = quorum_.now();
    machine_.shut_out(quorum_.shut_out(now, what_.lease));
    const auto next = apply(now);
    plan(next, how_);
    done = machine_.done();
    over = next.left.has_value() || machine_.at() == phase::over;
    schedule();
  }
  if (done)
    quorum_.forget(*this);
  else if (over)
    quorum_.retire(*this);
  drain(here);
}

void quorum_claim::schedule() {
  const auto due = machine_.due();
  if (due == instant::max() || due >= alarm_at_) return;
  alarm_at_ = due;
  quorum_.at_about(due, weak_from_this());
}

void quorum_claim::plan(const step& next, entry how) {
  const auto round = machine_.round();
  for (unsigned i = 0; i < quorum_.size(); ++i) {
    const auto add = [&](errand::kind is) -> errand& {
      auto& one = errands_.emplace_back();
      one.is = is;
      one.node = i;
      one.round = round;
      return one;
    };
    if (next.leave.has(i)) add(errand::kind::leave).final = finality::answered;
    if (next.leave_final.has(i)) add(errand::kind::leave).final = finality::final;
    if (next.enter.has(i)) add(machine_.renewing() ? errand::kind::look : errand::kind::enter).how = how;
    if (next.raise.has(i))
      add(errand::kind::raise).token = {
          .to = next.raise_to, .token = next.token, .instead_of = next.instead_of, .behind = next.behind.has(i)};
  }
  if (next.say && !askers_.empty()) answers_.asked.emplace_back(std::exchange(askers_, {}), answer_to(*next.say));
  if (next.left && !leavers_.empty())
    answers_.left.emplace_back(std::exchange(leavers_, {}), *next.left);
  else if (next.unconfirmed && !leavers_.empty())
    answers_.left.emplace_back(std::exchange(leavers_, {}),
                               failure(errc::indeterminate, "too few nodes have confirmed it; " + quorum_.trouble()));
}

result<standing> quorum_claim::answer_to(const verdict& say) const {
  using kind = verdict::kind;
  standing out;
  out.mode = what_.mode;
  switch (say.is) {
    case kind::held:
      out.is = standing::kind::held;
      out.token = say.token;
      out.tokens = say.token == 0 ? 0 : std::max(say.tokens, 1U);
      out.behind = 1;  // others wait whom nobody can count: it is given back between any two callers
      return out;
    case kind::waiting:
      out.is = standing::kind::waiting;
      out.look_again_in = say.look_again_in;
      return out;
    case kind::busy:
      out.is = standing::kind::busy;
      out.look_again_in = say.look_again_in;
      return out;
    case kind::evicted: out.reason = standing::cause::evicted; return out;
    case kind::gone: return out;
    case kind::refused:
      for (const auto& one : refusals_) return one;
      return failure(errc::internal, "a node refused without a reason");
    case kind::late:
      return failure(errc::unavailable, "the nodes' answers took longer than the lease of " +
                                            std::to_string(what_.lease.count()) + " ms; ask for a longer lease");
    case kind::unavailable: return failure(errc::unavailable, "too few nodes agreed; " + quorum_.trouble());
    case kind::indeterminate: break;
  }
  return failure(errc::indeterminate, "too few nodes answered in time; " + quorum_.trouble());
}

// Whoever is answered may ask for the next thing at once, and must find everything sent that was decided before.
void quorum_claim::drain(inline_work here) {
  answers said;
  {
    const std::lock_guard order(sending_);
    ++depth_;
    for (;;) {
      errand one;
      {
        const std::lock_guard lock(mutex_);
        if (next_errand_ == errands_.size()) {
          errands_.clear();
          next_errand_ = 0;
          if (--depth_ == 0) std::swap(said, answers_);
          break;
        }
        one = errands_[next_errand_++];
      }
      carry_out(one, here);
    }
  }
  for (auto& [whom, what] : said.asked)
    for (auto& done : whom) done(what);
  for (auto& [whom, what] : said.left)
    for (auto& done : whom) done(what);
}

void quorum_claim::carry_out(const errand& one, inline_work here) {
  auto self = shared_from_this();
  const auto node = one.node, round = one.round;
  switch (one.is) {
    case errand::kind::enter:
      return quorum_.at(node).locks().enter(
          told(), one.how, here, [self, node, round](result<standing> got) { self->voted(node, round, got); });
    case errand::kind::look: {
      auto who = told();
      who.tokens = 2;  // more than one: a fresh one
      return quorum_.at(node).locks().look({&who, 1}, here, [self, node, round](result<standings> got) {
        self->voted(node, round,
                    !got           ? result<standing>(got.error())
                    : got->empty() ? result<standing>(failure(errc::internal, "a node left out an answer"))
                                   : got->front());
      });
    }
    case errand::kind::raise:
      return quorum_.at(node).raise(told(), one.token, here, [self, node, round](result<bool> got) {
        self->change(self->quorum_.loan().here(),
                     [&](instant now) { return self->machine_.raised(node, round, now, got.has_value()); });
      });
    case errand::kind::leave:
      quorum_.leave_begins();
      return quorum_.at(node).locks().leave(told(), one.final, here, [self, node, round](result<departure> got) {
        self->change(self->quorum_.loan().here(), [&](instant now) {
          return self->machine_.left(node, round, now, got ? std::optional(*got) : std::nullopt);
        });
        self->quorum_.leave_ends();
      });
  }
}

void quorum_claim::voted(unsigned node, unsigned round, const result<standing>& got) {
  change(quorum_.loan().here(), [&](instant now) {
    const auto vote = vote_of(got);
    if (round == machine_.round() && vote.is == node_vote::kind::refused) refusals_.assign(1, got.error());
    return machine_.voted(node, round, now, vote, quorum_.jitter());
  });
}

}  // namespace interlock::inline v1::quorum_store
