// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace interlock::inline v1::testing {

bool eventually(const std::function<bool()>& holds, milliseconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

struct event_log::state {
  mutable std::mutex mutex;
  std::map<event_kind, unsigned> counts;
  loss_reason loss = loss_reason::none;
};

std::shared_ptr<event_log::state> event_log::make() { return std::make_shared<state>(); }

std::function<void(const event&)> event_log::writer() {
  return [to = state_](const event& one) {
    const std::lock_guard held(to->mutex);
    ++to->counts[one.kind];
    if (one.kind == event_kind::lost) to->loss = one.loss;
  };
}

unsigned event_log::count(event_kind kind) const {
  const std::lock_guard held(state_->mutex);
  const auto found = state_->counts.find(kind);
  return found == state_->counts.end() ? 0 : found->second;
}

loss_reason event_log::last_loss() const {
  const std::lock_guard held(state_->mutex);
  return state_->loss;
}

pending<guard>& queue_of_waiters::add(const client& locks, acquire_options options) {
  // Not just one more than before: an earlier one may still be cleared away somewhere, behind its release.
  const auto before = store_.inspect(name_).waiters;
  const auto asked_before = store_.waiting(name_);
  const auto is_new = [&](const claim_info& one) {
    return std::none_of(before.begin(), before.end(), [&](const claim_info& old) { return old.id == one.id; });
  };
  waits_.push_back(std::make_unique<pending<guard>>(locks.async_acquire(name_, options)));
  const bool queued = eventually([&] {
    if (!store_.traits().survey) return store_.waiting(name_) > asked_before;
    const auto now = store_.inspect(name_).waiters;
    return std::any_of(now.begin(), now.end(), is_new);
  });
  EXPECT_TRUE(queued) << "waiter " << waits_.size() << " for " << name_ << " does not show in the queue";
  return *waits_.back();
}

}  // namespace interlock::inline v1::testing
