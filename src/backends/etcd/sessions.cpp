// SPDX-License-Identifier: MIT
#include "backends/etcd/sessions.hpp"

#include <algorithm>
#include <condition_variable>

namespace interlock::inline v1::etcd_store {
namespace {

constexpr std::int64_t notes_seconds = 3'600;
constexpr milliseconds farewell{300};

// Shared with callbacks that may come after close() has stopped waiting.
struct countdown {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t left = 0;
};

}  // namespace

std::int64_t seconds_for(milliseconds lease) noexcept {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(lease).count();
  const auto step = whole <= 10 ? 1 : whole <= 60 ? 5 : whole <= 600 ? 30 : whole <= 3'600 ? 300 : 3'600;
  return (whole + step - 1) / step * step + 1;
}

// One that nobody has renewed is left to its end, unless it may still be carrying claims: they know by themselves.
bool sessions::usable(std::int64_t seconds, const session& one) const {
  if (one.dead) return false;
  const auto age = time_.now() - one.renewed;
  return seconds == 0 ? age < one.ttl / 2 : age < one.ttl;
}

session_ptr sessions::notes_at_hand() {
  const std::lock_guard lock(mutex_);
  const auto& at = slots_[0];
  return at.current && usable(0, *at.current) ? at.current : nullptr;
}

void sessions::with(milliseconds lease, completion<session_ptr> then) {
  with_seconds(seconds_for(lease), std::move(then));
}

void sessions::with_seconds(std::int64_t seconds, completion<session_ptr> then) {
  std::unique_lock lock(mutex_);
  auto& at = slots_[seconds];
  if (at.current && usable(seconds, *at.current)) {
    auto found = at.current;
    lock.unlock();
    return then(std::move(found));
  }
  at.waiting.push_back(std::move(then));
  if (at.waiting.size() > 1) return;
  lock.unlock();
  const auto sent = time_.now();
  link_->grant(seconds == 0 ? notes_seconds : seconds,
               [this, seconds, sent](result<granted_lease> got) { granted(seconds, sent, std::move(got)); });
}

void sessions::granted(std::int64_t seconds, instant sent, result<granted_lease> got) {
  std::vector<completion<session_ptr>> waiting;
  session_ptr made;
  {
    const std::lock_guard lock(mutex_);
    auto& at = slots_[seconds];
    waiting.swap(at.waiting);
    if (got) {
      made = std::make_shared<session>();
      made->id = got->id;
      made->ttl = std::chrono::seconds{got->seconds};
      made->renewed = sent;
      at.current = made;
    }
  }
  for (auto& each : waiting) {
    if (got)
      each(made);
    else  // a lease that was granted without our knowing is in nobody's way
      each(failure(got.error() == errc::indeterminate ? errc::unavailable : got.error().kind(), got.error().message()));
  }
}

void sessions::refresh(const session_ptr& one, milliseconds lease, completion<bool> then) {
  const auto now = time_.now();
  std::unique_lock lock(mutex_);
  if (one->dead || (!one->doubted && one->renewed + one->ttl >= now + lease)) {
    const bool lasts = !one->dead;
    lock.unlock();
    return then(lasts);
  }
  const auto joint = std::find_if(asked_.begin(), asked_.end(), [&](const question& each) {
    return each.about == one && each.sent + one->ttl >= now + lease;
  });
  if (joint != asked_.end()) {
    joint->waiting.push_back(std::move(then));
    return;
  }
  asked_.push_back({one, now, {}});
  asked_.back().waiting.push_back(std::move(then));
  lock.unlock();
  link_->keep_alive(one->id, [this, one, now](result<std::int64_t> got) { answered(one, now, std::move(got)); });
}

void sessions::answered(const session_ptr& about, instant sent, result<std::int64_t> got) {
  std::vector<completion<bool>> waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(asked_.begin(), asked_.end(),
                                    [&](const question& each) { return each.about == about && each.sent == sent; });
    if (found != asked_.end()) {
      waiting = std::move(found->waiting);
      asked_.erase(found);
    }
    if (got && *got > 0) {
      about->renewed = std::max(about->renewed, sent);
      about->doubted = false;
    } else if (got) {
      about->dead = true;
    }
  }
  for (auto& each : waiting) {
    if (got)
      each(*got > 0);
    else
      each(got.error());
  }
}

void sessions::doubt(const session_ptr& one) {
  const std::lock_guard lock(mutex_);
  if (one) one->doubted = true;
}

void sessions::forget_notes() {
  const std::lock_guard lock(mutex_);
  slots_[0].current.reset();
}

void sessions::close() noexcept {
  const auto open = std::make_shared<countdown>();
  std::vector<lease_id> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [seconds, at] : slots_)
      if (at.current && usable(seconds, *at.current)) all.push_back(at.current->id);
  }
  open->left = all.size();
  for (const auto id : all)
    link_->revoke(id, [open](const result<bool>&) {
      const std::lock_guard lock(open->mutex);
      --open->left;
      open->changed.notify_all();
    });
  std::unique_lock lock(open->mutex);
  open->changed.wait_for(lock, farewell, [&] { return open->left == 0; });
}

}  // namespace interlock::inline v1::etcd_store
