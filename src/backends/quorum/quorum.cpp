// SPDX-License-Identifier: MIT
#include "backends/quorum/quorum.hpp"

#include "backends/quorum/quorum_claim.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace interlock::inline v1::quorum_store {

using core::node_set;

namespace {

constexpr milliseconds late_nodes{250};  // when enough are there, how long the others are waited for
constexpr milliseconds founding{50};     // others may be opening a new deployment at the same time
constexpr milliseconds last_words{250};  // for leaves that are on their way when closing
constexpr milliseconds opening{10'000};  // a bound for what has bounds of its own

}  // namespace

quorum::quorum(const backend_environment& environment, quorum_settings settings)
    : loop_(environment.loop),
      time_(environment.time),
      events_(environment.events),
      settings_(std::move(settings)),
      roster_(settings_.rules.nodes, settings_.restart_delay),
      links_(settings_.rules.nodes) {}

result<void> quorum::open(const backend_environment& environment) {
  for (unsigned i = 0; i < settings_.rules.nodes; ++i) {
    auto one = node::make(i, environment, settings_.servers[i], *this);
    if (!one) return one.error();
    nodes_.push_back(std::move(*one));
  }
  for (const auto& one : nodes_) one->start();

  const auto count = [&](auto is) {
    unsigned out = 0;
    for (unsigned i = 0; i < size(); ++i) out += is(i) ? 1 : 0;
    return out;
  };
  const auto needed = settings_.rules.needed;
  std::unique_lock lock(roster_mutex_);
  const auto ready = [&] { return count([&](unsigned i) { return links_[i] && roster_.known(i); }); };
  const auto failed = [&] { return count([&](unsigned i) { return !links_[i] && nodes_[i]->way()->trouble(); }); };
  // Failed attempts are not told: they are asked for now and then.
  const auto wait = [&](milliseconds longest, auto over) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!over() && std::chrono::steady_clock::now() < end) roster_changed_.wait_for(lock, milliseconds{5});
  };
  wait(opening, [&] { return ready() >= needed || failed() > size() - needed; });
  if (ready() >= needed) wait(late_nodes, [&] { return ready() + failed() >= size(); });
  if (ready() < needed) {
    lock.unlock();
    auto kind = errc::unavailable;
    for (const auto& one : nodes_)
      if (const auto why = one->way()->trouble(); why && why->kind() == errc::denied) kind = errc::denied;
    return failure(kind, trouble());
  }
  if (const auto blank = roster_.contested(); !blank.empty()) {
    // Another client may be the first one here, and just marking them.
    wait(founding, [] { return false; });
    lock.unlock();
    for (unsigned i = 0; i < size(); ++i)
      if (blank.has(i)) nodes_[i]->inquire();
    lock.lock();
    wait(founding, [&] { return roster_.contested().empty(); });
  }
  const auto which = roster_.settle(now());
  opened_ = true;
  const auto due = roster_.due();
  lock.unlock();
  mark(which);
  if (due != instant::max()) arm(due);
  lock.lock();
  wait(late_nodes, [&] { return marks_ == 0; });
  return {};
}

std::string quorum::trouble() const {
  unsigned up = 0;
  std::string reasons;
  for (const auto& one : nodes_) {
    if (one->up()) {
      ++up;
      continue;
    }
    const auto why = one->way()->trouble();
    const auto text = why ? why->message() : one->shown() + ": not connected";
    reasons += (reasons.empty() ? ": " : "; ") + text;
  }
  return std::to_string(up) + " of " + std::to_string(size()) + " nodes can be asked, " +
         std::to_string(settings_.rules.needed) + " must agree" + reasons;
}

void quorum::close() noexcept {
  {
    const std::lock_guard lock(telling_);
    if (closed_) return;
  }
  {
    std::unique_lock lock(leaves_mutex_);
    leaves_over_.wait_for(lock, last_words, [&] { return leaves_.load() == 0; });
  }
  {
    const std::lock_guard lock(telling_);
    closed_ = true;
  }
  for (const auto& one : nodes_) one->close();
  decltype(claims_) dropped;
  decltype(retired_) dropped_too;
  {
    const std::lock_guard lock(claims_mutex_);
    dropped.swap(claims_);
    dropped_too.swap(retired_);
  }
  for (const auto& [secret, one] : dropped) one->drop();
  for (const auto& [address, one] : dropped_too) one->drop();
}

void quorum::leave_ends() noexcept {
  if (leaves_.fetch_sub(1) != 1) return;
  const std::lock_guard lock(leaves_mutex_);
  leaves_over_.notify_all();
}

double quorum::jitter() {
  const std::lock_guard lock(random_mutex_);
  return random_.fraction();
}

// ---- claims

std::shared_ptr<quorum_claim> quorum::find(const claim_secret& secret) {
  const std::lock_guard lock(claims_mutex_);
  const auto found = claims_.find(secret);
  return found == claims_.end() ? nullptr : found->second;
}

std::shared_ptr<quorum_claim> quorum::find_or_make(const claim& who) {
  const std::lock_guard lock(claims_mutex_);
  auto& kept = claims_[who.secret];
  // Not make_shared: an alarm that is still set would keep its memory.
  if (!kept) kept = std::make_unique<quorum_claim>(*this, who);
  return kept;
}

void quorum::forget(const quorum_claim& which) {
  std::shared_ptr<quorum_claim> last, other;  // destroyed behind the lock
  const std::lock_guard lock(claims_mutex_);
  if (const auto found = retired_.find(&which); found != retired_.end()) {
    other = std::move(found->second);
    retired_.erase(found);
  }
  const auto found = claims_.find(which.secret());
  if (found == claims_.end() || found->second.get() != &which) return;
  last = std::move(found->second);
  claims_.erase(found);
}

void quorum::retire(const quorum_claim& which) {
  const std::lock_guard lock(claims_mutex_);
  const auto found = claims_.find(which.secret());
  if (found == claims_.end() || found->second.get() != &which) return;
  retired_[&which] = std::move(found->second);
  claims_.erase(found);
}

void quorum::flush() const noexcept {
  for (const auto& one : nodes_) one->way()->flush();
}

// ---- time

void quorum::at(instant when, std::weak_ptr<alarm> what) {
  {
    const std::lock_guard lock(alarms_mutex_);
    alarms_[when].push_back(std::move(what));
  }
  arm(when);
}

void quorum::at_about(instant when, std::weak_ptr<alarm> what) {
  constexpr milliseconds step{8};
  const auto since = when.time_since_epoch();
  at(instant(std::chrono::floor<milliseconds>(since) / step * step + step), std::move(what));
}

void quorum::arm(instant when) {
  {
    const std::lock_guard lock(alarms_mutex_);
    if (when >= armed_) return;
    armed_ = when;
  }
  loop_.call_at(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->tick();
  });
}

void quorum::tick() noexcept {
  const std::lock_guard open(telling_);
  if (closed_) return;
  const auto time = now();
  std::vector<std::weak_ptr<alarm>> due;
  auto next = instant::max();
  {
    const std::lock_guard lock(alarms_mutex_);
    armed_ = instant::max();
    const auto end = alarms_.upper_bound(time);
    for (auto it = alarms_.begin(); it != end; ++it)
      due.insert(due.end(), std::make_move_iterator(it->second.begin()), std::make_move_iterator(it->second.end()));
    alarms_.erase(alarms_.begin(), end);
    if (!alarms_.empty()) next = alarms_.begin()->first;
  }
  node_set which;
  {
    const std::lock_guard lock(roster_mutex_);
    which = roster_.timer(time);
    next = std::min(next, roster_.due());
  }
  mark(which);
  for (const auto& weak : due)
    if (const auto one = weak.lock()) one->ring(time);
  if (next != instant::max()) arm(next);
}

// ---- nodes

node_set quorum::shut_out(instant time, milliseconds lease) {
  const std::lock_guard lock(roster_mutex_);
  return roster_.shut_out(time, lease);
}

void quorum::mark(node_set which) {
  for (unsigned i = 0; i < size(); ++i) {
    if (!which.has(i)) continue;
    std::string run;
    {
      const std::lock_guard lock(roster_mutex_);
      run = roster_.run_id(i);
      ++marks_;
    }
    nodes_[i]->mark(run, [this] {
      const std::lock_guard lock(roster_mutex_);
      --marks_;
      roster_changed_.notify_all();
    });
  }
}

template <class F>
void quorum::tell(F what) noexcept {
  const std::lock_guard open(telling_);
  if (!closed_) what(events_);
}

void quorum::link(unsigned node, bool up) noexcept {
  bool crossed = false;
  {
    const std::lock_guard lock(roster_mutex_);
    if (links_[node] != up) {
      links_[node] = up;
      const auto before = up_;
      up_ += up ? 1U : -1U;
      const auto needed = settings_.rules.needed;
      crossed = opened_ && (before >= needed) != (up_ >= needed);
    }
    roster_changed_.notify_all();
  }
  if (crossed) tell([&](backend_events& to) { to.link(up); });
}

void quorum::remembers(unsigned node, const node_memory& what) noexcept {
  node_set which;
  auto due = instant::max();
  bool another = false;
  {
    const std::lock_guard lock(roster_mutex_);
    another = opened_ && roster_.known(node) && roster_.run_id(node) != what.run_id;
    which = roster_.heard(node, what, now());
    due = roster_.due();
    roster_changed_.notify_all();
  }
  mark(which);
  if (due != instant::max()) arm(due);
  // Where every node counts, each of them may have forgotten our claims.
  if (another && settings_.rules.needed == size()) tell([](backend_events& to) { to.another_server(); });
}

void quorum::tell_look_again(const claim_secret& whom) noexcept {
  tell([&](backend_events& to) { to.look_again(whom); });
}

void quorum::hint(unsigned node, const claim_secret& whom) noexcept {
  if (const auto one = find(whom)) one->hint(node);
}

void quorum::evicted(unsigned, const claim_secret& whom) noexcept {
  tell([&](backend_events& to) { to.evicted(whom); });
}

}  // namespace interlock::inline v1::quorum_store
