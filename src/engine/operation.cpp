// SPDX-License-Identifier: MIT
#include <interlock/detail/operation.hpp>

#include <utility>

namespace interlock::inline v1::detail {

operation_base::~operation_base() = default;

std::optional<failure> operation_base::wait() const {
  if (ready()) return {};
  if (place_->is_current())
    return failure(errc::deadlock,
                   "a blocking call on one of interlock's own threads would wait for itself; use then() or co_await");
  for (auto seen = state_.fetch_or(is_awaited) | is_awaited; (seen & is_ready) == 0;
       seen = state_.load(std::memory_order_acquire))
    state_.wait(seen, std::memory_order_acquire);
  return {};
}

// false: it was ready before, and `next` is the caller's again.
bool operation_base::keep(unique_function<void()>& next) {
  if (ready()) return false;
  next_ = std::move(next);
  if ((state_.fetch_or(has_next) & is_ready) == 0) return true;
  next = std::move(next_);
  return false;
}

bool operation_base::continue_with(unique_function<void()> next) { return keep(next); }

void operation_base::call_later(unique_function<void()> next) {
  if (!keep(next)) place_->post(std::move(next));
}

void operation_base::abandon() noexcept {
  const auto before = state_.fetch_or(next_taken);
  if ((before & next_taken) == 0) next_ = {};
  if ((before & is_ready) == 0) cancel();
}

void operation_base::publish(std::shared_ptr<operation_base> self) noexcept {
  const auto before = state_.fetch_or(is_ready);
  if ((before & is_awaited) != 0) state_.notify_all();
  if ((before & has_next) == 0) return;
  auto& place = *place_;  // which `self` keeps alive
  place.post([self = std::move(self)] { self->resume(); });
}

// The caller may have gone between publish() and now: a coroutine frame destroyed meanwhile must not be resumed.
void operation_base::resume() noexcept {
  if ((state_.fetch_or(next_taken) & next_taken) != 0) return;
  auto next = std::move(next_);
  next();
}

}  // namespace interlock::inline v1::detail
