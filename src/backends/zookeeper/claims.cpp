// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"

#include "backends/zookeeper/requests.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

/// Sessions, and the passing of time. What happens to claims is in the files named after it.
namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr milliseconds shortest_nap{10};
constexpr milliseconds tomb_time{60'000};

// Leases of about the same length share a session.
milliseconds lease_class(milliseconds lease) {
  constexpr std::array<int, 12> seconds{1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120};
  for (const int one : seconds)
    if (lease <= std::chrono::seconds{one}) return std::chrono::seconds{one};
  milliseconds out = std::chrono::seconds{120};
  while (out < lease) out *= 2;
  return out;
}

}  // namespace

claims::claims(const backend_environment& environment, zookeeper_settings settings)
    : settings_(std::move(settings)),
      root_(settings_.root),
      loop_(environment.loop),
      time_(environment.time),
      events_(environment.events) {}

std::shared_ptr<session> claims::make_session(milliseconds timeout) {
  auto made = std::make_shared<session>(settings_.common, timeout, loop_, time_, *this);
  schedule(time_.now() + milliseconds{100});
  return made;
}

// The servers tell the longest session they grant only to who asks for one.
result<milliseconds> claims::probe() {
  std::shared_ptr<session> first;
  {
    const std::lock_guard lock(mutex_);
    first = make_session(milliseconds{std::numeric_limits<std::int32_t>::max()});
    sessions_[milliseconds::max()] = first;
  }
  first->open();
  std::unique_lock lock(mutex_);
  first_.wait(lock, [&] { return opened_.has_value(); });
  const auto outcome = *std::exchange(opened_, {});
  sessions_.clear();
  lock.unlock();
  const auto granted = first->timeout();
  first->close();
  if (!outcome) return outcome.error();
  return granted;
}

result<void> claims::open() {
  auto longest = probe();
  if (!longest) return longest.error();
  std::shared_ptr<session> main;
  {
    const std::lock_guard lock(mutex_);
    longest_ = *longest;
    main = session_for(std::min(settings_.lease, longest_ - margin));
  }
  std::unique_lock lock(mutex_);
  first_.wait(lock, [&] { return opened_.has_value(); });
  return *opened_;
}

// [mutex_]
std::shared_ptr<session> claims::session_for(milliseconds lease) {
  const auto timeout = std::min(lease_class(lease) + margin, longest_);
  auto& one = sessions_[timeout];
  if (!one) {
    one = make_session(timeout);
    loop_.post([one = one] { one->open(); });
  }
  return one;
}

std::shared_ptr<session> claims::main_session() const {
  const std::lock_guard lock(mutex_);
  const auto timeout = std::min(lease_class(std::min(settings_.lease, longest_ - margin)) + margin, longest_);
  const auto found = sessions_.find(timeout);
  return found == sessions_.end() ? nullptr : found->second;
}

std::shared_ptr<link> claims::only_link() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size() == 1 ? sessions_.begin()->second->current() : nullptr;
}

void claims::flush() noexcept {
  std::vector<std::shared_ptr<session>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [timeout, one] : sessions_) all.push_back(one);
  }
  for (const auto& one : all)
    if (const auto to = one->current()) to->flush_left();
}

void claims::close() noexcept {
  std::vector<std::shared_ptr<session>> all;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    for (const auto& [timeout, one] : sessions_) all.push_back(one);
  }
  examining_.cancel();
  for (const auto& one : all) one->close();
  const std::lock_guard lock(mutex_);
  records_.clear();
  watchers_.clear();
  ends_.clear();
  sessions_.clear();
}

// ---- records

record_ptr claims::find(const claim_secret& secret) const {
  const auto found = records_.find(secret);
  return found == records_.end() ? nullptr : found->second;
}

bool claims::send(const record_ptr& one, std::string request, link::sending when, answer_handler done, together as) {
  return one->at->send(std::move(request), when, std::move(done), as);
}

std::optional<milliseconds> claims::lease_left(const claim_id& of) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [secret, one] : records_)
    if (one->id == of) return std::max(std::chrono::ceil<milliseconds>(one->ends - time_.now()), milliseconds{0});
  return {};
}

void claims::set_end(const record_ptr& one, instant when) {
  if (one->timed) ends_.erase({one->ends, one.get()});
  one->ends = when;
  one->timed = true;
  ends_.emplace(when, one.get());
  schedule(when);
}

claims::tomb& claims::bury(const claim_secret& who, milliseconds lease, bool evicted) {
  const auto until = time_.now() + std::max(lease, tomb_time);
  auto& one = tombs_[who];
  one.until = until;
  one.evicted |= evicted;
  tomb_ends_.emplace_back(until, who);
  return one;
}

const bool* claims::buried(const claim_secret& who) const {
  const auto found = tombs_.find(who);
  return found == tombs_.end() ? nullptr : &found->second.evicted;
}

void claims::forget(const record_ptr& one) {
  if (one->timed) ends_.erase({one->ends, one.get()});
  one->timed = false;
  std::erase(deferred_, one);
  one->is = record::state::over;
  ++one->round;
  const auto found = records_.find(one->secret);
  if (found != records_.end() && found->second == one) records_.erase(found);
}

// ---- time

// [mutex_]
void claims::schedule(instant when) {
  if (when >= scheduled_) return;
  scheduled_ = when;
  loop_.call_at(when, [weak = weak_from_this(), when] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->closed_ || self->scheduled_ != when) return;  // an earlier one has taken its place
      self->scheduled_ = instant::max();
    }
    self->tend();
  });
}

// What is due: claims that were not looked at in time, claims that should watch their own node, sessions.
void claims::tend() noexcept {
  const auto now = time_.now();
  std::vector<std::shared_ptr<session>> all;
  change([&](aftermath& out) {
    while (!ends_.empty() && ends_.begin()->first < now) {
      const auto one = ends_.begin()->second->shared_from_this();
      ends_.erase(ends_.begin());
      one->timed = false;
      bury(one->secret, one->lease, one->evicted);
      one->doomed = !one->stands();
      if (one->stands()) remove(one, departure::gone, inline_work::never, out);
      if (one->is == record::state::uncertain && one->at->is_up()) resolve(one, out);
    }
    for (; !to_guard_.empty() && to_guard_.front().first <= now; to_guard_.pop_front())
      if (const auto one = to_guard_.front().second.lock(); one && one->stands() && !one->guarded) guard(one);
    for (; !tomb_ends_.empty() && tomb_ends_.front().first < now; tomb_ends_.pop_front())
      if (const auto found = tombs_.find(tomb_ends_.front().second); found != tombs_.end() && found->second.until < now)
        tombs_.erase(found);
    for (const auto& [timeout, one] : sessions_) all.push_back(one);
  });
  auto next = now + milliseconds{1'000};
  for (const auto& one : all) next = std::min(next, one->tend(now));
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (!ends_.empty()) next = std::min(next, ends_.begin()->first + milliseconds{1});
  if (!to_guard_.empty()) next = std::min(next, to_guard_.front().first);
  schedule(std::max(next, now + shortest_nap));
}

}  // namespace interlock::inline v1::zookeeper_store
