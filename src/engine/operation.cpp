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
  while (!ready()) ready_.wait(0, std::memory_order_acquire);
  return {};
}

bool operation_base::continue_with(unique_function<void()> next) {
  const std::lock_guard lock(mutex_);
  if (ready()) return false;
  next_ = std::move(next);
  return true;
}

void operation_base::call_later(unique_function<void()> next) {
  {
    const std::lock_guard lock(mutex_);
    if (!ready()) {
      next_ = std::move(next);
      return;
    }
  }
  place_->post(std::move(next));
}

void operation_base::abandon() noexcept {
  unique_function<void()> dropped;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    dropped = std::move(next_);
    if (ready()) return;
  }
  cancel();
}

void operation_base::publish() noexcept {
  bool continues = false;
  {
    const std::lock_guard lock(mutex_);
    ready_.store(1, std::memory_order_release);
    continues = static_cast<bool>(next_);
    ready_.notify_all();
  }
  if (continues) place_->post([self = shared_from_this()] { self->resume(); });
}

// The caller may have gone between publish() and now: a coroutine frame destroyed meanwhile must not be resumed.
void operation_base::resume() noexcept {
  unique_function<void()> next;
  {
    const std::lock_guard lock(mutex_);
    if (abandoned_) return;
    next = std::move(next_);
  }
  if (next) next();
}

}  // namespace interlock::inline v1::detail
