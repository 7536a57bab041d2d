// SPDX-License-Identifier: MIT
#include "core/claim_book.hpp"

#include "core/planted.hpp"

#include <algorithm>

namespace interlock::inline v1::core {

using state = book_claim::state;
using change = book_claim::change;

namespace {
void alter(book_claim& who) noexcept {
  if (who.unsaved == change::none) who.unsaved = change::altered;
}
void extend(book_claim& who, instant until) noexcept {
  if (until <= who.ends) return;  // a lease is never shortened
  who.ends = until;
  alter(who);
}
bool expired(const book_claim& who, instant now) noexcept {
  return planted(bug::expire_early) ? who.ends <= now + milliseconds{30} : who.ends < now;
}
}  // namespace

void claim_book::reset(std::uint32_t capacity, std::uint64_t token, std::uint64_t last_seq) noexcept {
  capacity_ = capacity;
  token_ = token;
  seq_ = last_seq;
  claims_.clear();
  removed_.clear();
}

void claim_book::raise_token(std::uint64_t floor) noexcept { token_ = std::max(token_, floor); }

void claim_book::raise_seq(std::uint64_t floor) noexcept { seq_ = std::max(seq_, floor); }

book_claim* claim_book::find(const claim_secret& secret) noexcept {
  for (auto& one : claims_)
    if (one.secret == secret) return &one;
  return nullptr;
}

std::uint64_t claim_book::used() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& one : claims_)
    if (one.is == state::held) sum += one.weight;
  return sum;
}

std::uint32_t claim_book::queued() const noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(claims_.begin(), claims_.end(), [](const book_claim& one) { return one.is == state::waiting; }));
}

bool claim_book::live() const noexcept {
  return std::any_of(claims_.begin(), claims_.end(), [](const book_claim& one) { return one.is != state::tomb; });
}

// A newcomer may not overtake: anybody in the queue, or a holder that waits to upgrade, comes first.
bool claim_book::blocked(std::uint32_t weight) const noexcept {
  const bool others = std::any_of(claims_.begin(), claims_.end(), [](const book_claim& one) {
    return one.is == state::waiting || (one.is == state::held && one.upgrading);
  });
  if (planted(bug::reader_joins_writer) && weight == 1) return false;
  return (others && !planted(bug::barging)) || used() + weight > capacity_;
}

milliseconds claim_book::first_expiry(instant now, std::uint64_t ahead_of) const noexcept {
  auto first = instant::max();
  for (const auto& one : claims_)
    if (one.is == state::held || (one.is == state::waiting && one.seq < ahead_of)) first = std::min(first, one.ends);
  if (first == instant::max()) return milliseconds{0};
  return std::max(std::chrono::ceil<milliseconds>(first - now), milliseconds{1});
}

standing claim_book::answer(const book_claim& who, instant now) const {
  standing out;
  out.mode = who.mode;
  out.memo = who.seq;
  if (who.is == state::tomb || (who.evicted && who.is == state::held)) {
    out.is = standing::kind::gone;
    out.reason = who.evicted ? standing::cause::evicted : standing::cause::unknown;
    return out;
  }
  if (who.is == state::held) {
    out.is = standing::kind::held;
    out.token = who.token;
    out.tokens = who.tokens;
    out.behind = queued();
    return out;
  }
  out.is = standing::kind::waiting;
  for (const auto& one : claims_)
    if (one.is == state::waiting && one.seq < who.seq) ++out.ahead;
  out.look_again_in = first_expiry(now, who.seq);
  return out;
}

void claim_book::erase(book_claim& who) {
  if (who.unsaved != change::added) removed_.push_back(who.seq);
  claims_.erase(claims_.begin() + (&who - claims_.data()));
}

void claim_book::drop_expired(instant now) {
  for (std::size_t i = claims_.size(); i-- > 0;) {
    if (!expired(claims_[i], now)) continue;
    if (planted(bug::dead_waiter_blocks) && claims_[i].is == state::waiting) continue;
    erase(claims_[i]);
  }
}

void claim_book::reserve(book_claim& who, std::uint32_t count) noexcept {
  who.token = token_ + 1;
  who.tokens = count;
  token_ += planted(bug::token_repeats) ? 0 : count;
  alter(who);
}

void claim_book::grant(book_claim& who, instant now) {
  who.is = state::held;
  who.since = now;
  if (who.mode == lock_mode::shared) {
    if (token_ == 0) token_ = 1;  // a token is never zero, also before the first writer
    who.token = token_;
    who.tokens = 1;
    alter(who);
  } else {
    reserve(who, who.tokens);
  }
}

void claim_book::tell(const book_claim& who, news& out) const {
  if (planted(bug::lost_wakeup)) return;
  book_news one;
  one.whom = who.secret;
  one.seq = who.seq;
  one.to = who.from;
  one.as.is = standing::kind::held;
  one.as.mode = who.mode;
  one.as.token = who.token;
  one.as.tokens = who.tokens;
  one.as.behind = queued();
  one.as.memo = who.seq;
  out.push_back(std::move(one));
}

void claim_book::settle(instant now, news& out) {
  drop_expired(now);
  auto in_use = used();
  for (auto& one : claims_) {
    if (!one.upgrading) continue;
    if (in_use - one.weight + capacity_ > capacity_) return;  // its readers still read: nobody joins them
    in_use = in_use - one.weight + capacity_;
    one.upgrading = false;
    one.mode = lock_mode::exclusive;
    one.weight = capacity_;
    reserve(one, 1);
    tell(one, out);
  }
  for (auto& one : claims_) {
    if (one.is != state::waiting) continue;
    const bool fits = in_use + one.weight <= capacity_ || (planted(bug::reader_joins_writer) && one.weight == 1);
    if (!fits) return;
    in_use += one.weight;
    grant(one, now);
    tell(one, out);
  }
}

result<standing> claim_book::enter(const claim& who, entry how, std::shared_ptr<const claim_source> from, instant now,
                                   news& out) {
  settle(now, out);
  if (auto* mine = find(who.secret)) {
    if (mine->is != state::tomb && !mine->evicted)
      extend(*mine, now + (mine->is == state::held ? who.lease : who.wait_lease));
    return answer(*mine, now);
  }
  if (capacity_ != who.capacity) {
    if (live()) {
      const auto kind = [](std::uint32_t n) {
        return n == lock_capacity ? "a lock" : "a semaphore of " + std::to_string(n);
      };
      return failure(errc::invalid_argument, "\"" + std::string(who.name) + "\" is in use as " + kind(capacity_) +
                                                 " and cannot be " + kind(who.capacity) + " at the same time");
    }
    capacity_ = who.capacity;
  }
  if (how == entry::attempt && blocked(who.weight)) {
    standing busy;
    busy.is = standing::kind::busy;
    busy.look_again_in = first_expiry(now, seq_ + 1);
    return busy;
  }
  const bool at_once = !blocked(who.weight);
  auto& mine = claims_.emplace_back();
  mine.secret = who.secret;
  mine.seq = ++seq_;
  mine.mode = who.mode;
  mine.weight = who.weight;
  mine.tokens = std::max<std::uint32_t>(who.tokens, 1);
  mine.since = now;
  mine.from = std::move(from);
  mine.unsaved = change::added;
  mine.ends = now + (at_once ? who.lease : who.wait_lease);
  if (at_once) grant(mine, now);
  return answer(mine, now);
}

standing claim_book::look(const claim& who, instant now, news& out) {
  if (planted(bug::renew_revives)) {
    if (auto* mine = find(who.secret); mine != nullptr && mine->is == state::held)
      extend(*mine, now + who.lease);
    else if (mine == nullptr && !live())
      return *enter(who, entry::attempt, nullptr, now, out);
  }
  settle(now, out);
  auto* mine = find(who.secret);
  if (mine == nullptr) return {};
  if (mine->is == state::tomb || mine->evicted) return answer(*mine, now);
  extend(*mine, now + (mine->is == state::held ? who.lease : who.wait_lease));
  if (mine->is == state::held && mine->mode != lock_mode::shared && who.tokens > 1) reserve(*mine, who.tokens);
  return answer(*mine, now);
}

void claim_book::bury(const claim& who, instant now) {
  if (planted(bug::no_tombstone)) return;
  auto& tomb = claims_.emplace_back();
  tomb.secret = who.secret;
  tomb.seq = ++seq_;
  tomb.is = state::tomb;
  tomb.since = now;
  tomb.ends = now + std::max(who.lease, tomb_time);
  tomb.unsaved = change::added;
}

departure claim_book::leave(const claim& who, finality how, instant now, news& out) {
  settle(now, out);
  auto* mine = find(who.secret);
  if (planted(bug::release_any) && mine == nullptr)
    for (auto& one : claims_)
      if (one.is == state::held) mine = &one;
  auto was = departure::gone;
  if (mine != nullptr && mine->is != state::tomb) {
    was = mine->is == state::held ? departure::released : departure::left;
    erase(*mine);
    mine = nullptr;
  }
  if (how == finality::final && mine == nullptr) bury(who, now);
  settle(now, out);
  return was;
}

result<standing> claim_book::convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, instant now,
                                     news& out) {
  settle(now, out);
  auto* mine = find(who.secret);
  if (mine == nullptr) return standing{};
  if (mine->is != state::held || mine->evicted) {
    auto now_is = answer(*mine, now);
    now_is.is = standing::kind::gone;
    return now_is;
  }
  if (weight <= mine->weight) {
    mine->upgrading = false;
    mine->mode = mode;
    mine->weight = weight;
    alter(*mine);
    if (planted(bug::downgrade_gap) && mode == lock_mode::shared) mine->weight = 0;
    settle(now, out);
    mine = find(who.secret);
    return answer(*mine, now);
  }
  for (const auto& other : claims_)
    if (other.upgrading && &other != mine)
      return failure(errc::deadlock, "another reader of \"" + std::string(who.name) +
                                         "\" is waiting to upgrade; both would wait for each other");
  if (used() - mine->weight + weight > capacity_) {
    standing not_yet = answer(*mine, now);
    not_yet.is = how == entry::queue ? standing::kind::waiting : standing::kind::busy;
    not_yet.look_again_in = first_expiry(now, 0);
    if (how == entry::queue && !mine->upgrading) {
      mine->upgrading = true;
      alter(*mine);
    }
    return not_yet;
  }
  mine->upgrading = false;
  mine->mode = mode;
  mine->weight = weight;
  if (mode == lock_mode::exclusive) reserve(*mine, 1);
  return answer(*mine, now);
}

bool claim_book::evict(const claim_id& who, bool force, instant now, news& out) {
  settle(now, out);
  for (auto& one : claims_) {
    if (one.is == state::tomb || one.evicted) continue;
    const bool named = planted(bug::evict_wrong) ? one.is == state::held : public_id(one.secret) == who;
    if (!named) continue;
    book_news told;
    told.is = book_news::kind::evicted;
    told.whom = one.secret;
    told.seq = one.seq;
    told.to = one.from;
    out.push_back(std::move(told));
    one.evicted = true;
    one.upgrading = false;  // who has been told to stop is not served any more, and is in nobody's way
    // A waiter believes nothing yet, so it can end at once; what is left of it tells it why.
    if (one.is == state::waiting || force) one.is = state::tomb;
    alter(one);
    settle(now, out);
    return true;
  }
  return false;
}

void claim_book::discard(std::uint64_t seq, instant now, news& out) {
  for (auto& one : claims_) {
    if (one.seq != seq) continue;
    erase(one);
    break;
  }
  settle(now, out);
}

lock_info claim_book::describe(std::string_view name, instant now) const {
  lock_info out;
  out.name = name;
  out.limit = capacity_ == lock_capacity ? 1 : capacity_;
  for (const auto& one : claims_) {
    if (one.is == state::tomb || expired(one, now)) continue;
    claim_info info;
    info.id = public_id(one.secret);
    info.mode = one.mode;
    info.permits = capacity_ == lock_capacity ? 1 : one.weight;
    if (one.is == state::held) {
      info.token = fencing_token(one.token);
      info.tokens = one.tokens;
    }
    if (one.from) {
      info.host = one.from->origin.host;
      info.program = one.from->origin.program;
      info.purpose = one.from->origin.purpose;
      info.pid = one.from->origin.pid;
    }
    info.age = std::chrono::floor<milliseconds>(now - one.since);
    info.lease_left = std::chrono::floor<milliseconds>(one.ends - now);
    (one.is == state::held ? out.holders : out.waiters).push_back(std::move(info));
  }
  return out;
}

}  // namespace interlock::inline v1::core
