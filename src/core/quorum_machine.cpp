// SPDX-License-Identifier: MIT
#include "core/quorum_machine.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::core {
namespace {

constexpr milliseconds shortest_patience{50}, longest_patience{1'000};
constexpr milliseconds shortest_pause{2}, longest_pause{250};
constexpr milliseconds first_retry{50}, last_retry{1'000};

milliseconds times(milliseconds span, double factor) noexcept { return std::chrono::ceil<milliseconds>(span * factor); }

}  // namespace

// ---- rules

unsigned quorum_rules::needed_for(std::uint32_t capacity) const noexcept {
  if (capacity == lock_capacity) return needed;
  const auto room = std::uint64_t{nodes} * capacity;
  return std::max(needed, static_cast<unsigned>(room / (std::uint64_t{capacity} + 1)) + 1);
}

instant quorum_rules::valid_until(instant sent, milliseconds lease) const noexcept {
  return sent + lease - lease * drift_percent / 100 - drift_extra;
}

milliseconds quorum_rules::patience_for(milliseconds lease) const noexcept {
  if (patience > milliseconds{0}) return patience;
  return std::clamp(lease / 10, shortest_patience, longest_patience);
}

// ---- renewals

quorum_tally::verdict quorum_tally::cast(unsigned node, node_vote::kind vote) noexcept {
  const auto who = node_set::one(node);
  open_ -= who;
  switch (vote) {
    case node_vote::kind::yes: yes_ |= who; break;
    case node_vote::kind::place: place_ |= who; break;
    case node_vote::kind::busy:
    case node_vote::kind::gone:
    case node_vote::kind::refused: no_ |= who; break;
    case node_vote::kind::evicted: evicted_ = true; break;
    case node_vote::kind::absent:
    case node_vote::kind::silent: break;
  }
  return count();
}

quorum_tally::verdict quorum_tally::close() noexcept {
  open_ = {};
  return count();
}

quorum_tally::verdict quorum_tally::count() const noexcept {
  if (evicted_) return verdict::evicted;
  if (yes_.size() >= needed_) return verdict::held;
  // Lost only if enough have said so. Those who say nothing may have it still: then nobody knows.
  const auto against = (place_ | no_).size();
  if (against > nodes_ - needed_) return place_.empty() ? verdict::gone : verdict::waiting;
  return open_.empty() ? verdict::unknown : verdict::open;
}

// ---- asking

node_set quorum_machine::in_flight() const noexcept {
  node_set out;
  for (unsigned i = 0; i < rules_.nodes; ++i)
    if (enters_[i] > 0) out |= node_set::one(i);
  return out;
}

node_set quorum_machine::with(kind is) const noexcept {
  node_set out;
  for (unsigned i = 0; i < rules_.nodes; ++i)
    if (answered_.has(i) && votes_[i].is == is) out |= node_set::one(i);
  return out;
}

node_set quorum_machine::voices() const noexcept {
  return (with(kind::yes) - shut_) | with(kind::place) | with(kind::busy) | with(kind::gone);
}

quorum_machine::step quorum_machine::ask(instant now, entry how, milliseconds lease) {
  ++round_;
  phase_ = phase::asking;
  how_ = how;
  lease_ = lease;
  sent_ = now;
  answered_ = raising_ = raised_ = told_ = hints_ = todo_ = final_ = leaves_ = {};
  renewing_ = false;
  ordered_ = rules_.in_order && losses_ > 0 && how == entry::queue;
  asked_ = ordered_ ? node_set::one(0) : all();
  for (unsigned i = 0; i < rules_.nodes; ++i)
    if (asked_.has(i)) ++enters_[i];
  step next;
  next.enter = asked_;
  return next;
}

quorum_machine::step quorum_machine::renew(instant now, milliseconds lease) {
  losses_ = 0;
  auto next = ask(now, entry::attempt, lease);
  renewing_ = true;
  return next;
}

quorum_machine::step quorum_machine::voted(unsigned node, unsigned round, instant now, const node_vote& vote,
                                           double jitter) {
  const auto who = node_set::one(node);
  if (enters_[node] > 0) --enters_[node];
  if (vote.is == kind::silent) {
    maybe_ |= who;
    doubt_ |= who;
  }
  // Of an earlier round: something was sent behind it since, which counts.
  if (round != round_) return late_vote(node, round, now, vote);
  if (vote.is == kind::yes || vote.is == kind::place)
    maybe_ |= who;
  else if (vote.is != kind::silent && vote.is != kind::absent && enters_[node] == 0)
    maybe_ -= who;
  if (!asked_.has(node) || answered_.has(node)) return {};
  answered_ |= who;
  votes_[node] = vote;
  if (phase_ == phase::asking) return evaluate(now, jitter);
  return round == granted_in_ ? settle_token(node, vote) : step{};
}

quorum_machine::step quorum_machine::late_vote(unsigned node, unsigned round, instant now, const node_vote& vote) {
  if (!ending()) return round == granted_in_ ? settle_token(node, vote) : step{};
  // A node carries out what it is told in the order it was told, so that the leave ends this enter too. One that is
  // answered behind its leave was not carried out in one go: there is something again, or may be.
  step next;
  const bool something = vote.is == kind::yes || vote.is == kind::place || vote.is == kind::silent;
  if (something && !todo_.has(node)) {
    const auto who = node_set::one(node);
    todo_ |= who;
    leaves_ -= who;
    forget_at_ = std::max(forget_at_, now + lease_);
    send_leaves(next);
  }
  return next;
}

// Who answered after the grant made a token of its own, perhaps a larger one. It must not be taken for the claim's.
quorum_machine::step quorum_machine::settle_token(unsigned node, const node_vote& vote) const noexcept {
  step next;
  if (!rules_.tokens || told_.has(node) || vote.is != kind::yes || vote.token <= token_) return next;
  next.raise = node_set::one(node);
  next.token = token_;
  next.raise_to = token_ + std::max(tokens_, 1U) - 1;
  next.instead_of = vote.token + std::max(vote.tokens, 1U) - 1;
  return next;
}

quorum_machine::step quorum_machine::evaluate(instant now, double jitter) {
  const auto yes = with(kind::yes) - shut_;
  if (yes.size() >= needed_) return win(now);
  const auto pending = asked_ - answered_;
  if (ordered_) {
    if (!pending.empty()) return {};
    const auto next_node = asked_.size();
    if (yes.size() < next_node || next_node == rules_.nodes) return conclude(now, jitter);
    asked_ |= node_set::one(next_node);
    ++enters_[next_node];
    step next;
    next.enter = node_set::one(next_node);
    return next;
  }
  if (yes.size() + pending.size() >= needed_) return {};
  const auto heard = voices().size();
  const bool last_word = !(with(kind::evicted) | with(kind::refused)).empty();
  if (last_word || heard >= needed_ || heard + pending.size() < needed_) return conclude(now, jitter);
  return {};
}

quorum_machine::step quorum_machine::win(instant now) {
  const auto yes = with(kind::yes) - shut_;
  token_ = tokens_ = 0;
  for (unsigned i = 0; i < rules_.nodes; ++i)
    if (yes.has(i) && votes_[i].token >= token_) {
      token_ = votes_[i].token;
      tokens_ = votes_[i].tokens;
    }
  if (!rules_.tokens || token_ == 0) return grant(now);
  // Whoever gave the largest has it already. The others must learn it: the next majority may have only one node in
  // common with this one, and that node must not make a smaller one.
  for (unsigned i = 0; i < rules_.nodes; ++i)
    if (yes.has(i) && votes_[i].token == token_) raised_ |= node_set::one(i);
  if (raised_.size() >= needed_) return grant(now);
  phase_ = phase::raising;
  // Who has not answered yet is told as well, behind the question: whatever token it makes, nobody may see that.
  told_ = asked_ - answered_;
  raising_ = (with(kind::yes) | with(kind::place) | with(kind::busy) | told_) - raised_;
  step next;
  next.raise = raising_;
  next.behind = told_;
  next.token = token_;
  next.raise_to = token_ + std::max(tokens_, 1U) - 1;
  return next;
}

quorum_machine::step quorum_machine::raised(unsigned node, unsigned round, instant now, bool done) {
  // Told behind its question, and in vain. What follows from that is asked for once: a node that is away refuses at
  // once.
  const bool untold = round == round_ && !done && told_.has(node);
  if (untold) told_ -= node_set::one(node);
  if (round != round_ || phase_ != phase::raising) {
    const bool late = untold && answered_.has(node) && phase_ == phase::held && round == granted_in_;
    return late ? settle_token(node, votes_[node]) : step{};
  }
  raising_ -= node_set::one(node);
  if (done) raised_ |= node_set::one(node);
  if (raised_.size() >= needed_) return grant(now);
  if (raised_.size() + (raising_ | (asked_ - answered_)).size() >= needed_) return {};
  return lose(now, {.is = verdict::kind::unavailable}, phase::idle);
}

quorum_machine::step quorum_machine::grant(instant now) {
  if (now >= rules_.valid_until(sent_, lease_)) return lose(now, {.is = verdict::kind::late}, phase::idle);
  phase_ = phase::held;
  granted_in_ = round_;
  renewing_ = false;
  losses_ = 0;
  step next;
  next.say = verdict{.is = verdict::kind::held, .token = token_, .tokens = tokens_};
  return next;
}

// It was not won, and will not be.
quorum_machine::step quorum_machine::conclude(instant now, double jitter) {
  using say = verdict::kind;
  trip_ = std::clamp(std::chrono::ceil<milliseconds>(now - sent_), milliseconds{1}, milliseconds{100});
  if (!with(kind::evicted).empty()) return lose(now, {.is = say::evicted}, phase::over);
  if (const auto refusing = with(kind::refused); !refusing.empty()) {
    unsigned first = 0;
    while (!refusing.has(first)) ++first;
    return lose(now, {.is = say::refused, .node = first}, phase::over);
  }
  if (with(kind::gone).size() > rules_.nodes - needed_) return lose(now, {.is = say::gone}, phase::over);
  const auto pending = asked_ - answered_;
  const auto unheard = with(kind::absent) | with(kind::silent) | (with(kind::yes) & shut_) | pending;
  const bool heard = ordered_ ? unheard.empty() : voices().size() >= needed_;
  if (!heard) {
    const bool maybe = !(with(kind::silent) | pending).empty();
    return lose(now, {.is = maybe ? say::indeterminate : say::unavailable}, phase::idle);
  }
  const auto how = lost_round(jitter);
  return lose(now, how, how_ == entry::attempt ? phase::over : phase::waiting);
}

quorum_machine::verdict quorum_machine::lost_round(double jitter) noexcept {
  milliseconds longest{0};
  ahead_ = 0;
  for (unsigned i = 0; i < rules_.nodes; ++i) {
    if (!(with(kind::place) | with(kind::busy)).has(i)) continue;
    longest = std::max(longest, votes_[i].left);
    ahead_ = std::max(ahead_, votes_[i].ahead);
  }
  if (how_ == entry::attempt) return {.is = verdict::kind::busy, .look_again_in = longest};
  const auto base = std::max(trip_ * 2, shortest_pause) * (1 << std::min(losses_, 7U));
  ++losses_;
  auto pause = times(std::min(base, longest_pause), 0.5 + jitter);
  if (longest > milliseconds{0}) pause = std::min(pause, longest + milliseconds{1});
  return {.is = verdict::kind::waiting, .look_again_in = pause};
}

quorum_machine::step quorum_machine::lose(instant now, verdict how, phase then) {
  step next;
  next.say = how;
  if (std::exchange(renewing_, false)) {
    phase_ = phase::held;
    return next;
  }
  phase_ = then;
  free_ = with(kind::yes);
  auto where = maybe_ | in_flight();
  // Who goes on waiting keeps its places: they are seen by those who look, and tell when the lock becomes free.
  if (then != phase::over) where -= rules_.in_order ? with(kind::place) & node_set::one(0) : with(kind::place);
  clear_away(next, where, then == phase::over ? in_flight() | doubt_ : node_set{}, now);
  return next;
}

// ---- leaving

void quorum_machine::clear_away(step& next, node_set where, node_set final, instant now) noexcept {
  todo_ = where;
  final_ = final & where;
  leaves_ = {};
  retries_ = 0;
  retry_at_ = instant::max();
  forget_at_ = now + lease_;
  send_leaves(next);
}

void quorum_machine::send_leaves(step& next) noexcept {
  const auto now_sent = todo_ - leaves_;
  if (ending()) final_ |= doubt_ & todo_;
  next.leave_final |= now_sent & final_;
  next.leave |= now_sent - final_;
  leaves_ |= now_sent;
}

quorum_machine::step quorum_machine::leave(instant now, finality how, milliseconds lease) {
  step next;
  if (phase_ != phase::leaving) {
    const auto known = maybe_ | in_flight();
    ++round_;
    phase_ = phase::leaving;
    lease_ = std::max(lease_, lease);
    released_ = stepped_out_ = 0;
    const auto where = how == finality::final || known.empty() ? all() : known;
    leave_count_ = where.size();
    clear_away(next, where, how == finality::final ? where : node_set{}, now);
  } else {
    if (how == finality::final) final_ |= todo_;
    send_leaves(next);
  }
  asked_to_leave_ = true;
  leave_sent_ = now;
  if (todo_.empty()) answer_leave(next, true);
  return next;
}

quorum_machine::step quorum_machine::left(unsigned node, unsigned round, instant now, std::optional<departure> how) {
  const auto who = node_set::one(node);
  if (round != round_ || !(todo_ & leaves_).has(node)) return {};
  leaves_ -= who;
  if (how) {
    todo_ -= who;
    maybe_ -= who;
    if (*how == departure::released) ++released_;
    if (*how == departure::left) ++stepped_out_;
  } else {
    final_ |= doubt_ & who;
    const auto pause = std::min(first_retry * (1 << std::min(retries_++, 7U)), last_retry);
    retry_at_ = std::min(retry_at_, now + pause);
  }
  step next;
  if (phase_ != phase::leaving) return next;
  answer_leave(next, leaves_.empty());
  if (todo_.empty()) phase_ = phase::over;
  return next;
}

// `settled`: nothing more will come without asking again.
void quorum_machine::answer_leave(step& next, bool settled) noexcept {
  if (!asked_to_leave_) return;
  const auto confirmed = leave_count_ - todo_.size();
  if (released_ >= needed_) {
    next.left = departure::released;
  } else if (todo_.empty() || (confirmed >= needed_ && stepped_out_ > 0)) {
    next.left = stepped_out_ > 0 ? departure::left : departure::gone;
  } else if (settled) {
    if (confirmed >= needed_ && released_ + todo_.size() < needed_)
      next.left = departure::gone;
    else
      next.unconfirmed = true;
  } else {
    return;
  }
  asked_to_leave_ = false;
}

quorum_machine::step quorum_machine::abandon(instant now) {
  step next;
  if (phase_ == phase::leaving) return next;
  const auto where = maybe_ | in_flight();
  ++round_;
  phase_ = phase::over;
  clear_away(next, where, in_flight() | doubt_, now);
  return next;
}

// ---- being told, and time

bool quorum_machine::hint(unsigned node) noexcept {
  if (phase_ != phase::waiting) return false;
  hints_ |= node_set::one(node);
  const bool enough = rules_.in_order ? hints_.has(0) : (hints_ | free_).size() >= needed_;
  if (enough) hints_ = {};
  return enough;
}

milliseconds quorum_machine::stagger(double jitter) const noexcept {
  return std::chrono::floor<milliseconds>(trip_ * std::min(ahead_, 8U) * jitter);
}

instant quorum_machine::due() const noexcept {
  auto first = todo_.empty() ? instant::max() : std::min(retry_at_, forget_at_);
  const auto patience = rules_.patience_for(lease_);
  if (phase_ == phase::asking) first = std::min(first, sent_ + patience * std::max(ordered_ ? asked_.size() : 1U, 1U));
  if (phase_ == phase::raising) first = std::min(first, sent_ + 2 * patience);
  if (phase_ == phase::leaving && asked_to_leave_) first = std::min(first, leave_sent_ + patience);
  return first;
}

quorum_machine::step quorum_machine::timer(instant now, double jitter) {
  if (now < due()) return {};
  if (phase_ == phase::asking) return conclude(now, jitter);
  if (phase_ == phase::raising) return lose(now, {.is = verdict::kind::indeterminate}, phase::idle);
  auto next = retry(now);
  if (phase_ == phase::leaving) {
    if (now >= leave_sent_ + rules_.patience_for(lease_)) answer_leave(next, true);
    if (todo_.empty()) {
      if (asked_to_leave_) answer_leave(next, true);
      phase_ = phase::over;
    }
  }
  return next;
}

quorum_machine::step quorum_machine::retry(instant now) noexcept {
  step next;
  if (todo_.empty()) return next;
  if (now >= forget_at_) {  // by now every node has forgotten it
    todo_ = leaves_ = {};
    retry_at_ = instant::max();
  } else if (now >= retry_at_) {
    retry_at_ = instant::max();
    send_leaves(next);
  }
  return next;
}

}  // namespace interlock::inline v1::core
